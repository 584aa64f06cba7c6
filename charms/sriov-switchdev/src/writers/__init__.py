# SPDX-License-Identifier: Apache-2.0
"""Who else creates VFs or sets eswitch modes on this host."""
