# SPDX-License-Identifier: Apache-2.0
"""What people and other programs read: the fabric as text or picture, configurations in each format. Pure."""
