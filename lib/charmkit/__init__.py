# SPDX-License-Identifier: Apache-2.0
"""What the charms share of ops: reconcile, status, actions, and the rolling reboot."""
