# SPDX-License-Identifier: Apache-2.0
"""The state of a card's ports, as devlink, ethtool, tc, sysfs and debugfs tell it."""

import re

State = dict[str, dict[str, str]]
"""By port ("port0", "port1"): what is asked, and the answer."""

READ = """
while read -r _ kind _ _ device _; do
    [ $kind != ingress ] || blocks="$blocks $device"
done < <(tc qdisc show)
for port in 0 1; do
    pf=PF$port net=NET$port; pf=${!pf} net=${!net}
    say() { echo "port$port $1 $2"; }
    file() { says "$2"; say $1 "$said"; }
    eswitch=$(devlink dev eswitch show pci/$pf 2>&1)
    say eswitch "${eswitch#pci/*: }"
    file vfs /sys/bus/pci/devices/$pf/sriov_numvfs
    bound=0 netdevs= channels=() master=
    for driver in /sys/bus/pci/devices/$pf/virtfn*/driver; do [ ! -e $driver ] || bound=$((bound + 1)); done
    say bound $bound
    for name in /sys/bus/pci/devices/$pf/net/*/phys_port_name; do says $name; netdevs="$netdevs $said"; done
    say netdevs "$netdevs"
    file carrier /sys/class/net/$net/carrier
    [ ! -e /sys/class/net/$net/master ] || master=$(readlink /sys/class/net/$net/master)
    say master "${master##*/}"
    while read -r name number; do [ $name != Combined: ] || channels+=($number); done < <(ethtool -l $net)
    [ ${channels[0]} != ${channels[1]} ] || channels[1]=all
    say channels ${channels[1]}
    rules=0
    for device in $blocks; do
        [ -e /sys/bus/pci/devices/$pf/net/$device ] || continue
        rules=$((rules + $(tc filter show dev $device ingress | grep -cw in_hw)))
    done
    say rules $rules
    [ -d /sys/kernel/debug/mlx5/$pf/lag ] || continue
    for name in state type port_sel_mode flags members; do
        file lag-$name /sys/kernel/debug/mlx5/$pf/lag/$name
    done
done
"""
"""For bash, after the functions of :mod:`lab.calibrate.sequence`; "channels all" means the maximum."""


def natural(name: str) -> list[tuple[int, str]]:
    """A key to sort pf0vf2 before pf0vf10."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D*)(\d*)", name)]


def parse(text: str) -> State:
    """Parse the output of :data:`READ`.

    >>> parse("port0 mode legacy\\nport0 master \\n")
    {'port0': {'mode': 'legacy', 'master': ''}}
    """
    state: State = {}
    for line in text.splitlines():
        port, name, *value = line.split(maxsplit=2)
        words = " ".join(value).split()
        # The kernel lists netdevs by their names on this host, a recording by their ports'.
        state.setdefault(port, {})[name] = " ".join(
            sorted(words, key=natural) if name == "netdevs" else words
        )
    return state
