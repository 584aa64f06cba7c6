# SPDX-License-Identifier: Apache-2.0
"""Waking a unit outside of its hooks, by systemd and juju-exec."""
