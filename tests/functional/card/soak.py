# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest: random sequences of what users do to a card, until done or until the kernel warns.

Usage: soak.py SEED FIRST COUNT LENGTH. Sequence n of a seed is always the same LENGTH operations; each starts
from what the one before left. Prints one line per sequence, the kernel's words and exit status 1 at the first
warning.
"""

import contextlib
import random
import re
import subprocess
import sys
import time
from pathlib import Path

PFS = ["0000:3b:00.0", "0000:3b:00.1"]
DEVICES = Path("/sys/bus/pci/devices")
DRIVER = Path("/sys/bus/pci/drivers/mlx5_core")
# Written by the kernel when something in it, or in a module, went wrong.
ALARM = re.compile("WARNING:|BUG:|Oops|Call Trace|INFO: task|unregister_netdevice: waiting")


def write(path, value):
    """Write, whatever the kernel answers: refusals are part of the game."""
    with contextlib.suppress(OSError):
        Path(path).write_text(str(value))


def run(command):
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)


def netdev(bdf):
    """The netdev of a function that is no representor."""
    for path in (DEVICES / bdf / "net").glob("*"):
        try:
            port = (path / "phys_port_name").read_text().strip()
        except OSError:
            port = ""
        if "vf" not in port:
            return path.name
    return None


def a_vf(chance):
    links = [link for pf in PFS for link in (DEVICES / pf).glob("virtfn*")]
    return chance.choice(sorted(links)).readlink().name if links else None


def bind(chance, pf):
    write(DRIVER / "bind", pf)


def unbind(chance, pf):
    write(DRIVER / "unbind", pf)


def numvfs(chance, pf):
    write(DEVICES / pf / "sriov_numvfs", chance.choice([0, 1, 4, 8, 9]))


def mode(chance, pf):
    run(f"devlink dev eswitch set pci/{pf} mode {chance.choice(['legacy', 'switchdev', 'switchdev'])}")


def enslave(chance, pf):
    name = netdev(pf)
    if name:
        run(f"ip link set {name} down; ip link set {name} master bond0; ip link set bond0 up")


def release(chance, pf):
    name = netdev(pf)
    if name:
        run(f"ip link set {name} nomaster")


def reload(chance, pf):
    strict = " ".join(f"strict_{rule}={chance.choice('YN')}" for rule in ("bound", "bond", "rules"))
    model = chance.choice(["cx5", "cx6dx", "cx7"])
    old = chance.choice("NNY")
    run(f"rmmod mlx5_core; modprobe mlx5_core cards=3b:{model}:2 esw_none={old} {strict}; udevadm settle")


def bind_vf(chance, pf):
    vf = a_vf(chance)
    write(DEVICES / pf / "sriov_drivers_autoprobe", 1)
    if vf:
        write(DRIVER / "bind", vf)


def unbind_vf(chance, pf):
    vf = a_vf(chance)
    if vf:
        write(DRIVER / "unbind", vf)


def autoprobe(chance, pf):
    write(DEVICES / pf / "sriov_drivers_autoprobe", chance.randint(0, 1))


def remove_and_rescan(chance, pf):
    write(DEVICES / pf / "remove", 1)
    write("/sys/bus/pci/rescan", 1)


def reset(chance, pf):
    write(DEVICES / pf / "reset", 1)


def late_vfs(chance, pf):
    write(f"/sys/kernel/debug/vcx/{pf}/fault_vf_delay_ms", chance.choice([0, 20, 200]))


def link(chance, pf):
    write(f"/sys/kernel/debug/vcx/{pf}/fault_link_down", chance.choice("YN"))


def vanish(chance, pf):
    write(f"/sys/kernel/debug/vcx/{pf}/fault_surprise_remove", "Y")
    if chance.random() < 0.5:
        numvfs(chance, pf)
    write(DEVICES / pf / "remove", 1)
    write(f"/sys/kernel/debug/vcx/{pf}/fault_surprise_remove", "N")
    write("/sys/bus/pci/rescan", 1)


def recover(chance, pf):
    """The PF's driver is unloaded and loaded again."""
    if chance.random() < 0.5:
        write(f"/sys/kernel/debug/vcx/{pf}/fault_fw_fatal", 1)
    else:
        run(f"devlink dev reload pci/{pf}")


def tune(chance, pf):
    """Channels and RSS of the uplink, and the PF's FDB and encapsulation."""
    name = netdev(pf)
    if name:
        run(f"ethtool -L {name} combined {chance.randint(1, 2)}; ethtool -X {name} weight 1")
    metadata, encap = chance.choice(["true", "false"]), chance.choice(["none", "basic"])
    run(f"devlink dev param set pci/{pf} name esw_port_metadata value {metadata} cmode runtime")
    run(f"devlink dev eswitch set pci/{pf} encap-mode {encap}")


def instance(chance, pf):
    """A VF moves into a namespace and sends."""
    vf = a_vf(chance)
    name = vf and netdev(vf)
    if name:
        run(
            f"ip netns add vm; ip link set {name} netns vm && ip -n vm link set {name} up && "
            f"ip -n vm address add 192.168.25.{chance.randint(100, 250)}/24 dev {name}; "
            "ip netns exec vm ping -c 1 -W 0.1 192.168.25.1"
        )


def multiport(chance, pf):
    value = chance.choice(["true", "false"])
    run(f"devlink dev param set pci/{pf} name esw_multiport value {value} cmode runtime")


def converge(chance, pf):
    """The whole way to VF-LAG, from whatever there is."""
    run("ip link del bond0; ip link add bond0 type bond mode 802.3ad miimon 50 lacp_rate fast")
    for each in PFS:
        write(DEVICES / each / "sriov_drivers_autoprobe", 0)
        write(DEVICES / each / "sriov_numvfs", 0)
        write(DEVICES / each / "sriov_numvfs", 2)
        run(f"devlink dev eswitch set pci/{each} mode switchdev")
    for each in PFS:
        enslave(chance, each)
    time.sleep(0.5)
    for _ in range(3):
        bind_vf(chance, pf)


OPERATIONS = [
    bind,
    unbind,
    numvfs,
    numvfs,
    mode,
    mode,
    enslave,
    enslave,
    release,
    reload,
    bind_vf,
    unbind_vf,
    autoprobe,
]
OPERATIONS += [remove_and_rescan, reset, late_vfs, link, vanish, instance, multiport, converge, recover, tune]


def main(seed, first, count, length):
    run("ip link add bond0 type bond mode 802.3ad miimon 50 lacp_rate fast")
    for number in range(first, first + count):
        chance = random.Random(f"{seed}/{number}")
        steps = [chance.choice(OPERATIONS) for _ in range(length)]
        print(f"{seed}/{number}:", *(step.__name__ for step in steps), flush=True)
        for step in steps:
            step(chance, chance.choice(PFS))
        log = run("dmesg").stdout
        if ALARM.search(log):
            print(log)
            return 1
        run("dmesg -C")
    left = run("rmmod mlx5_core && ls /sys/kernel/debug/vcx /sys/kernel/debug/mlx5; lspci -d 15b3:; dmesg")
    print(left.stdout)
    return 1 if ALARM.search(left.stdout) or "15b3" in left.stdout else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
