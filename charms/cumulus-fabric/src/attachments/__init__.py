# SPDX-License-Identifier: Apache-2.0
"""Who is attached to the switches, and who would lose the last way to the network with a run. Pure."""
