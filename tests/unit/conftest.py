# SPDX-License-Identifier: Apache-2.0
"""Hypothesis without a deadline: a slow machine is no failure."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
