# SPDX-License-Identifier: Apache-2.0
"""What Canonical's observability stack makes of the charms' metrics, rules and databags."""
