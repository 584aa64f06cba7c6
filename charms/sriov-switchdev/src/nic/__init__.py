# SPDX-License-Identifier: Apache-2.0
"""The changes of a NIC: single steps, and the order in which they run."""
