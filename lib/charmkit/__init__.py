# SPDX-License-Identifier: Apache-2.0
"""The charms' shared code for ops: reconcile, status, actions, and the rolling reboot."""
