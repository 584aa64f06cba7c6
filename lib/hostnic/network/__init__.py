# SPDX-License-Identifier: Apache-2.0
"""The host's own network: routes, VLANs, neighbours, Open vSwitch."""
