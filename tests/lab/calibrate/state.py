# SPDX-License-Identifier: Apache-2.0
"""The state of a card's ports, as devlink, ethtool, tc, sysfs and debugfs tell it."""

State = dict[str, dict[str, str]]
"""By port ("port0", "port1"): what is asked, and the answer."""

READ = """
for port in 0 1; do
    pf=PF$port net=NET$port; pf=${!pf} net=${!net}
    say() { echo "port$port $1 $2"; }
    file() { cat "$1" 2>/dev/null | tr '\\n' ' ' | sed 's/ $//'; }
    say mode "$(devlink dev eswitch show pci/$pf 2>&1 | sed 's/^pci[^ ]*: //')"
    say vfs "$(file $(pci $pf)/sriov_numvfs)"
    say bound "$(ls -d $(pci $pf)/virtfn*/driver 2>/dev/null | wc -l)"
    say netdevs "$(cat $(pci $pf)/net/*/phys_port_name 2>/dev/null | sort -V | tr '\\n' ' ')"
    say carrier "$(file /sys/class/net/$net/carrier)"
    say master "$(basename "$(readlink /sys/class/net/$net/master)")"
    say mtu "$(file /sys/class/net/$net/mtu)"
    channels=($(ethtool -l $net | awk '/^Combined:/ {print $2}'))
    [ ${channels[0]} != ${channels[1]} ] || channels[1]=all
    say channels ${channels[1]}
    say offload "$(ethtool -k $net | sed -n 's/^hw-tc-offload: //p')"
    rules=0
    for device in $(pci $pf)/net/*; do
        rules=$((rules + $(tc filter show dev ${device##*/} ingress 2>/dev/null | grep -cw in_hw)))
    done
    say rules $rules
    if [ -d /sys/kernel/debug/mlx5/$pf/lag ]; then
        for name in state type port_sel_mode flags members; do
            say lag-$name "$(file /sys/kernel/debug/mlx5/$pf/lag/$name)"
        done
    fi
done
"""
"""For bash, after the functions of :mod:`lab.calibrate.sequence`; "channels all" means the maximum."""


def parse(text: str) -> State:
    """What :data:`READ` printed.

    >>> parse("port0 mode legacy\\nport0 master \\n")
    {'port0': {'mode': 'legacy', 'master': ''}}
    """
    state: State = {}
    for line in text.splitlines():
        port, name, *value = line.split(maxsplit=2)
        state.setdefault(port, {})[name] = value[0].strip() if value else ""
    return state
