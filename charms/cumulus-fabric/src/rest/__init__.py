# SPDX-License-Identifier: Apache-2.0
"""The way to the switches: NVUE's REST interface over TLS, its revisions, and many switches at once."""
