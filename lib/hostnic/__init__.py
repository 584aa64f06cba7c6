# SPDX-License-Identifier: Apache-2.0
"""Offload-capable NICs of a host: read, changed and checked; the only code that touches them."""
