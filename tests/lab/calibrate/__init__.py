# SPDX-License-Identifier: Apache-2.0
"""The answers of a ConnectX to fixed sequences of commands, recorded and compared; see README.md."""
