# SPDX-License-Identifier: Apache-2.0
"""The test machine: a throw-away QEMU guest with a virtual ConnectX, and what plays Juju's part on it."""
