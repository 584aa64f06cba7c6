# SPDX-License-Identifier: Apache-2.0
"""What leaves route for hosts, in NVUE's tree: gateways, VRFs, DHCP relay, peers and their policies. Pure."""
