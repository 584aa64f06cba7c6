# SPDX-License-Identifier: Apache-2.0
"""Answers that were taken from real software; README.md lists them with version and date."""
