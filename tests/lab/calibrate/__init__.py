# SPDX-License-Identifier: Apache-2.0
"""What a ConnectX answers to fixed sequences of commands, recorded and compared; see README.md."""
