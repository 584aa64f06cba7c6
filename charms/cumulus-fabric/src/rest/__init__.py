# SPDX-License-Identifier: Apache-2.0
"""The way to the switches: NVUE's REST interface over TLS, and many switches in parallel, up to a limit."""

MAX_PARALLEL = 64
"""Default number of switches that are contacted in parallel."""
