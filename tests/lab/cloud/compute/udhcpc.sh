#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What udhcpc was told by DHCP, onto its interface.
case $1 in
deconfig) ip link set "$interface" up ;;
bound | renew)
    [ -z "${mtu:-}" ] || ip link set "$interface" mtu "$mtu"
    ip address replace "$ip/${mask:-24}" dev "$interface"
    [ -z "${router:-}" ] || ip route replace default via "${router%% *}" dev "$interface"
    ;;
esac
