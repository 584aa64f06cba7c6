# SPDX-License-Identifier: Apache-2.0
"""Who logs in to the switches, and with what."""
