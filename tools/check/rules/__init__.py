# SPDX-License-Identifier: Apache-2.0
"""The rules, by what they are about; importing a module adds its rules to check.rule.RULES."""
