# SPDX-License-Identifier: Apache-2.0
"""How a host is tuned for instances with VFs: what the kernel shows, and advice. Nothing is ever set."""
