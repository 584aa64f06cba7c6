# SPDX-License-Identifier: Apache-2.0
"""Upgrades switches to another release: drained, one leaf of each rack at a time, the canary first."""
