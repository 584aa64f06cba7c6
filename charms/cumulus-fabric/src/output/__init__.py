# SPDX-License-Identifier: Apache-2.0
"""The fabric as text or picture, and configurations in each format. Pure."""
