# SPDX-License-Identifier: Apache-2.0
"""The charms' metrics, rules and databags in Canonical's observability stack."""
