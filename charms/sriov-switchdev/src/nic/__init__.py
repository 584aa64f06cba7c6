# SPDX-License-Identifier: Apache-2.0
"""What is done to a NIC: single steps, and the order in which they run."""
