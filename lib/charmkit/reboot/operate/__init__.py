# SPDX-License-Identifier: Apache-2.0
"""The operator's actions on a rolling reboot."""
