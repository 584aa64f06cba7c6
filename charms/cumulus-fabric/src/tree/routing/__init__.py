# SPDX-License-Identifier: Apache-2.0
"""The routing of leaves in NVUE's tree: gateways, VRFs, DHCP relay, peers and their policies. Pure."""
