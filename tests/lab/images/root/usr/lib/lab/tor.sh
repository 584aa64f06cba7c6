#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The leaf pair as the host sees it: one LACP partner over both wires, the gateway of the RDG's OAM
# network (untagged) and of its overlay (VLAN 40).
set -eu
ip netns add tor
for port in 0 1; do
    ip link add "w$port" mtu 9216 type veth peer name "swp$port" mtu 9216 netns tor
    ip link set "w$port" up
done
ip -n tor -batch - <<'EOF'
link set lo up
link add bond1 mtu 9216 type bond mode 802.3ad lacp_rate fast miimon 100 xmit_hash_policy layer3+4
link set swp0 master bond1
link set swp1 master bond1
link set bond1 up
addr add 192.168.25.1/24 dev bond1
link add bond1.40 link bond1 type vlan id 40
link set bond1.40 up
addr add 172.16.0.1/24 dev bond1.40
EOF
