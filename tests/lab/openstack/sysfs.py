# SPDX-License-Identifier: Apache-2.0
"""The parts of sysfs that scripts read on compute nodes and servers."""

from lab.openstack.neutron import GENEVE

MANAGEMENT = ("eno1", "eno2")
"""Each node has a second bond, of a NIC without VFs, that carries nothing of the tenants."""
REPRESENTOR = "enp63s0f0npf0vf0"
NETDEVS = {
    "normal": "ens3",
    "direct_overlay": "ens5",
    "direct_vlan": "ens6",
    "direct_nat": "ens7",
    "virtio_dpdk": "ens8",
}
"""A server's, by the names of its ports."""
VIRTIO = ("ens3", "ens8")
QUEUES = 20
LIVE = "431999 ESTABLISHED "
TRACKED = "ipv4     2 tcp      6 {}src={} dst=192.0.2.7 sport={} {} mark=0 zone=3 use=3\n"
OTHERS = "ipv4     2 {} src={} dst=192.0.2.7 [ASSURED] mark=0 zone=3 use=2\n"
"""Lines of /proc/net/nf_conntrack, without the reply's addresses."""


def make(folder, uplinks, mtu, *, node):
    """A compute node's, or a server's, whose networks have this MTU."""
    net, devices = folder / "sys/class/net", folder / "sys/devices"
    for number, netdev in enumerate((*uplinks, *MANAGEMENT) if node else NETDEVS.values(), 3):
        overhead = 0 if node or netdev == "ens6" else GENEVE
        _netdev(net / netdev, number, 9000 if node else mtu - overhead)
        device = devices / f"0000:00:{number:02x}.0"
        virtio = not node and netdev in VIRTIO
        driver = folder / "sys/drivers" / ("virtio_net" if virtio else "mlx5_core")
        driver.mkdir(parents=True, exist_ok=True)
        if virtio:  # the PCI device has a virtio device below it
            device /= f"virtio{number}"
        # With VF-LAG, the bond's ports have one RDMA device, below the first one.
        elif not node or netdev not in uplinks[1:]:
            name = "mlx5_bond_0" if node else f"mlx5_{number}"
            (device / "infiniband" / name / "ports/1/hw_counters").mkdir(parents=True)
        device.mkdir(parents=True, exist_ok=True)
        (device / "driver").symlink_to(driver)
        (net / netdev / "device").symlink_to(device)
        if node:
            (device / "sriov_numvfs").write_text("8\n" if netdev in uplinks else "0\n")
            (device / "local_cpulist").write_text("0-23\n")
    if node:
        _bond(net / "bond0", uplinks if len(uplinks) > 1 else ())
        _bond(net / "bond1", MANAGEMENT)
        _netdev(net / REPRESENTOR, 20, 1500)
        (net / REPRESENTOR / "device").symlink_to(devices / "0000:00:03.0")
        (net / REPRESENTOR / "phys_port_name").write_text("pf0vf0\n")


def _netdev(path, number, mtu):
    (path / "statistics").mkdir(parents=True)
    for queue in range(QUEUES):
        (path / f"queues/rx-{queue}").mkdir(parents=True)
    (path / "speed").write_text("100000\n")
    (path / "address").write_text(f"fa:16:3e:00:00:{number:02x}\n")
    (path / "mtu").write_text(f"{mtu}\n")
    for way in ("tx", "rx"):
        (path / "statistics" / f"{way}_packets").write_text("1\n")


def _bond(path, members):
    if members:
        _netdev(path, 30, 9000)
        (path / "bonding").mkdir()
        (path / "bonding/slaves").write_text(" ".join(members) + "\n")
        for member in members:
            (path.with_name(member) / "master").symlink_to(path)


def gpu(folder, place, smi, *, loaded):
    """A server's GPU, with what its driver prints."""
    (folder / "smi").write_text(f"{smi}\n")
    if loaded:
        (folder / "sys/module/nvidia_peermem").mkdir(parents=True, exist_ok=True)
    devices = folder / "sys/bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    if place:
        found = folder / "sys/devices" / place
        found.mkdir(parents=True, exist_ok=True)
        (found / "vendor").write_text("0x10de\n")
        (found / "class").write_text("0x030200\n")
        if not (devices / found.name).exists():
            (devices / found.name).symlink_to(found)


def kernel(folder, lacks, connections, addresses):
    """A node's kernel options, and the connections that it tracks of these addresses."""
    (folder / "boot").mkdir(exist_ok=True)
    options = {"NET_TC_SKB_EXT": "y", "NET_ACT_CT": "m", "NF_FLOW_TABLE": "m"}
    lines = [f"CONFIG_{key}={value}\n" for key, value in options.items() if key not in lacks]
    (folder / "boot/config-5.15.0-48-generic").write_text("".join(lines))
    in_nic, total = connections
    rows = [TRACKED.format(LIVE, "192.0.2.9", n, "[ASSURED]") for n in (1, 2)]
    for address in addresses:
        states = [("", "[HW_OFFLOAD]") if n < in_nic else (LIVE, "[ASSURED]") for n in range(total)]
        states.append(("57 TIME_WAIT ", "[ASSURED]"))  # of the measurement before
        rows += [TRACKED.format(now, address, n, mark) for n, (now, mark) in enumerate(states)]
        rows += [OTHERS.format(each, address) for each in ("icmp     1 25", "udp      17 92")]
    (folder / "proc/net/nf_conntrack").write_text("".join(rows))


def links(folder, host, uplinks, traffic):
    """Which uplinks have a link, and how their bond uses them."""
    net = folder / "sys/class/net"
    for port in uplinks:
        for key, lanes in zip(("current", "max"), traffic.lanes, strict=True):
            (net / port / f"device/{key}_link_width").write_text(f"{lanes}\n")
        (net / port / "operstate").write_text("down\n" if (host, port) in traffic.down else "up\n")
    bonding = net / "bond0/bonding"
    if bonding.exists():
        (bonding / "mode").write_text("active-backup 1\n" if traffic.active else "802.3ad 4\n")
        (bonding / "active_slave").write_text(f"{traffic.active}\n")
    cpufreq = folder / "sys/devices/system/cpu/cpu0/cpufreq"
    cpufreq.mkdir(parents=True, exist_ok=True)
    (cpufreq / "scaling_governor").write_text(f"{traffic.governor}\n")
