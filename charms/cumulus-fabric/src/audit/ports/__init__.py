# SPDX-License-Identifier: Apache-2.0
"""Audits of front-panel ports and their lanes: how they are split, and their own properties. Pure."""
