# SPDX-License-Identifier: Apache-2.0
"""NVUE's object tree as plain nested dicts: rendered from the fabric, compared, written as commands. Pure."""
