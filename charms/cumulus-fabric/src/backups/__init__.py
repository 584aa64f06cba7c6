# SPDX-License-Identifier: Apache-2.0
"""Configurations of switches that are kept outside them: before and after each run that changes one."""
