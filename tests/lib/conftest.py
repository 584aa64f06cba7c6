# SPDX-License-Identifier: Apache-2.0
"""Hypothesis without a deadline: a slow machine is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
