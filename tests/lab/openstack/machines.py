# SPDX-License-Identifier: Apache-2.0
"""The servers of an OpenStack and the compute nodes under them, behind `ssh` and `juju` as a tool runs them.

Scripts run in a real bash, with tools that print what the real ones do (tools.sh). The network between
machines is a model: what a path carries, what a security group lets through, which packets the NIC forwards.
"""

import json
import os
import re
import subprocess
from ipaddress import ip_address
from pathlib import Path

from operate.process import Output

from lab import jujuclient
from lab.openstack import actions, sysfs
from lab.openstack.juju import model
from lab.openstack.neutron import GENEVE
from lab.openstack.sysfs import MANAGEMENT, NETDEVS

TOOLS = (
    "sleep timeout setsid taskset nproc cloud-init ovs-vsctl systemd-run ip virsh ethtool ping mpstat iperf3 "
)
TOOLS += (
    "head modprobe uname ovs-appctl pkill systemctl ib_write_bw ib_write_lat dpdk-testpmd python3 nvidia-smi "
    "dpdk-devbind.py"
)
ONE_PAIR = 38.0
"""Gb/s of one iperf3 pair (RDG)."""
LIMITS = {"host": 190.0, "normal": 24.0, "direct_overlay": 182.0, "direct_vlan": 184.0, "direct_nat": 178.0}
"""Gb/s that each path carries at most."""
BOND = ("enp63s0f0", "enp63s0f1")
SMI = "0, Disabled, Disabled, Enabled, 1410, 765, 1410"
"""What nvidia-smi prints of a GPU that is as in the RDG."""
LIVE = "431999 ESTABLISHED "
TRACKED = "ipv4     2 tcp      6 {}src={} dst=192.0.2.7 sport={} {} mark=0 zone=3 use=3\n"
OTHERS = "ipv4     2 {} src={} dst=192.0.2.7 [ASSURED] mark=0 zone=3 use=2\n"
"""Lines of /proc/net/nf_conntrack, without the reply's addresses."""
MARKS = {"tx_prio3_pause": 5, "rx_prio3_pause": 7, "np_ecn_marked_roce_packets": 11}


class Machines:
    """Everything behind `ssh` and `juju`; call it as a Process.

    Attributes:
        limits: Gb/s at most by path; "host", or the prefix of the servers' ports.
        in_nic: share of packets that the NIC forwards, by path.
        path_mtu: what the network carries, in bytes.
        tunnel_mtu: of the netdev of each compute node's tunnels, by host.
        uplinks: ports with VFs; if there are two, they are in a bond.
        ports: share of packets through the first uplink, if there are two: of what is sent, and received.
        dropped: packets that each uplink has lost of priority 3, in the counter `discards`.
        cores: CPUs that a compute node itself spends on a path, with as many iperf3 pairs as there are.
        pps: million packets per second of the kernel's generator that arrive, by path; None without it.
        connections: tracked ones of the servers on each node, and how many of them are in the NIC.
        lacks: options that the nodes' kernel is built without.
        missing: tools that no compute node has.
        uninstalled: tools that no server could install.
        enforced: whether security groups keep anything out.
        gaps: packets that the fabric loses in each measurement with ib_write_bw.
        gpu: where each server's GPU is, below the root of its PCI devices; "" for none.
        smi: what nvidia-smi prints of it.
        peermem: whether the servers have loaded nvidia_peermem.
        second: what the second stream has of a path.
        shares: what RoCE has of a path beside a second stream, by their two types of service.
        marks: how the counters of show-counters grow on each uplink in such a measurement.
        qos: what show-qos says of PFC and ETS.
        switches: those of DCQCN on each uplink, by side; none without NVIDIA's driver.
        model: the Juju model, as :mod:`lab.jujuclient` keeps it.
        failing: why an action fails, by its name.
        commands: each command line that was run here.
        interrupt: a KeyboardInterrupt comes with the first script that contains this.

    """

    def __init__(self, openstack, folder):
        self.openstack, self.folder = openstack, Path(folder)
        self.limits, self.in_nic = dict(LIMITS), {"normal": 0.0, "virtio_dpdk": 0.0}
        self.why, self.path_mtu, self.ports, self.uplinks = "-", 9000, (0.5, 0.5), BOND
        self.cores, self.spends = {"normal": 11.2, "host": 4.0, "virtio_dpdk": 6.4}, 0.3
        self.pps, self.connections, self.lacks = {"normal": 1.4, "direct_overlay": 24.0}, (16, 16), ()
        self.missing, self.commands, self.scripts, self.interrupt = (), [], [], None
        self.queues, self.pin, self.outage, self.dropped, self.failing = 20, "5", 4, 0, {}
        self.uninstalled, self.enforced, self.gaps, self.lost = (), True, 0, 0
        self.gpu, self.smi, self.peermem = "0000:00:09.0", SMI, True
        self.second = 0.5
        self.shares, self.marks, self.marked = {"0 0": 0.2, "96 0": 0.5, "96 96": 0.5}, MARKS, 0
        self.qos, self.switches, self.beside = {"PFC": "3", "ETS": "0:50% 3:50% 6:strict"}, {}, None
        self.discards = "rx_prio3_discards"
        self.tunnel_mtu = dict.fromkeys(openstack.nova.hosts, 9000)
        self.packets = {host: {"in": 0, "out": 0, "total": 0} for host in openstack.nova.hosts}
        self.model = model(sorted(openstack.nova.hosts))

    def __call__(self, command, given, seconds, *, shown=False):
        self.commands.append(command)
        if command[0] == "ssh":
            return self._ssh(command[-2].partition("@")[2], given)
        assert command[0] == "juju"
        out, error, status = jujuclient.answer(_Client(self), command[1:])
        return Output(status, out, error)

    def _ssh(self, address, script):
        ports = self.openstack.neutron.of("floatingips", floating_ip_address=address)
        if not ports:
            return Output(255, "", f"ssh: connect to host {address} port 22: No route to host\n")
        port = self.openstack.neutron.objects["ports"][ports[0]["port_id"]]
        server = self.openstack.nova.servers[port["device_id"]]
        return self._bash(server["name"], server["OS-EXT-SRV-ATTR:host"], script)

    def run_on(self, unit, script):
        """A script in root's shell on the machine of a unit."""
        host = sorted(self.openstack.nova.hosts)[int(unit.partition("/")[2])]
        return self._bash(host, host, script)

    def act(self, unit, action):
        """What an action says, in the form of :mod:`lab.jujuclient`."""
        if action in self.failing:
            return {"status": "failed", "message": self.failing[action]}
        results = {"get-admin-password": lambda _: {"admin-password": self.openstack.keystone.password}}
        results |= {"show-offload": self._offload, "show-counters": self._counters}
        results |= {"show-qos": self._qos}
        results |= {"get-root-ca": lambda _: {"output": "-----BEGIN CERTIFICATE-----\n"}}
        return {"results": results[action](unit)} if action in results else None

    def _offload(self, unit):
        packets = self.packets[sorted(self.openstack.nova.hosts)[int(unit.partition("/")[2])]]
        counted = {"packets in NIC": str(packets["in"]), "packets not in NIC": str(packets["out"])}
        row = {**actions.OFFLOAD["on"][0], **counted, "why not": self.why}
        return {"offload": json.dumps([row])}

    def _counters(self, unit):
        packets = self.packets[sorted(self.openstack.nova.hosts)[int(unit.partition("/")[2])]]
        value = str(packets["total"] // 10**6)
        rows = [
            {**actions.COUNTER, "port": port, "counter": f"{way}_prio3_pause", "value": value}
            for port in self.uplinks
            for way in ("tx", "rx")
        ]
        for name, value in self.marks.items():
            old = [row for row in rows if row["counter"] == name]
            rows += [] if old else [{**actions.COUNTER, "port": "mlx5_bond_0", "counter": name, "value": "0"}]
            for row in old[:1] or rows[-1:]:
                row["value"] = str(int(row["value"]) + self.marked * value)
        return {"counters": json.dumps(rows)}

    def _qos(self, _unit):
        """As roce-qos prints it: a row for each setting of each port."""
        rows = [
            {"port": port, "setting": setting, "runs": runs, "wanted": runs, "": ""}
            for port in self.uplinks
            for setting, runs in self.qos.items()
        ]
        return {"qos": json.dumps(rows)}

    def _contended(self, script):
        """What a stream has of its path: all, or its part beside a second one, which begins before it."""
        own = re.search(r"--tclass=(\d+) .*\d+\.\d+\.\d+\.\d+", script)
        if own is None:
            return 1.0
        if "acceptance-beside" in script:
            self.beside = own[1]
            return self.second
        if self.beside is None:
            return 1.0
        share, self.beside = self.shares[f"{own[1]} {self.beside}"], None
        self.marked += 1
        return share

    def _bash(self, machine, host, script):
        self.scripts.append((machine, script))
        if self.interrupt and self.interrupt in script:
            self.interrupt = None
            raise KeyboardInterrupt
        folder = self._prepare(machine, host)
        path, blocked = self._path(machine, script)
        environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "FOLDER": str(folder), "CPUS": "20"}
        environment |= {"QUEUES": str(self.queues), "PIN": self.pin}
        mtu, path_mtu = self._mtus(path, host)
        environment |= {"ADDRESS": self._host_address(host), "MTU": str(mtu), "PATH_MTU": str(path_mtu)}
        environment |= {"BOOTED": "1" if self.uninstalled else "0"}
        environment |= {"PKTGEN_MISSING": "0" if self.pps else "1"}
        environment |= {"BUSY": str(int(self.spends * 100)), "SECONDS_EACH": "30"}
        environment |= {"OUTAGE": str(self.outage), "LOST": "2"}
        pairs = self._pairs(script)
        rate = min(self.limits.get(path, 0), ONE_PAIR * pairs)
        environment |= {
            "BPS": str(int(rate * 1e9 / max(pairs, 1))),
            "PPS": str(int(rate * 20000 / max(pairs, 1))),
        }
        rdma = self.limits.get(path, 0) * self._contended(script)
        environment |= {"RDMA": f"{rdma:.2f}", "BLOCKED": "yes" if blocked else ""}
        script = re.sub(
            r"(?<![\w.])/(sys|tmp|opt|proc|run|boot)/", lambda found: f"{folder}/{found[1]}/", script
        )
        done = subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        if path and "/proc/net/pktgen/" in script and self.pps:
            self._generated(path, script)
        if path and re.search("iperf3 -c|pktgen/|txonly", script):
            self.spends = self.cores.get(path, 0.3)
        if (
            path
            and not blocked
            and re.search(r"iperf3 -c|ib_write_\w+ .* \d+\.\d+\.\d+\.\d+ |trex|txonly", script)
        ):
            self._count(path)
            self.lost += self.gaps * ("ib_write_bw" in script)
        return Output(done.returncode, done.stdout, done.stderr)

    def _generated(self, path, script):
        """What the server's netdev has received of the kernel's generator."""
        target, seconds = re.search(r"dst ([\d.]+)", script)[1], int(re.search(r"timeout (\d+)", script)[1])
        (port,) = [
            each
            for each in self.openstack.neutron.of("ports")
            if each["fixed_ips"][0]["ip_address"] == target and each["name"].startswith(path)
        ]
        vm = self.openstack.nova.servers[port["device_id"]]["name"]
        counter = self.folder / vm / "sys/class/net" / NETDEVS[path] / "statistics/rx_packets"
        counter.write_text(f"{int(counter.read_text()) + int(self.pps[path] * seconds * 10**6)}\n")

    @staticmethod
    def _pairs(script):
        found = re.search(r"seq 5001 2 (\d+)", script)
        return (int(found[1]) - 5001) // 2 + 1 if found else 0

    def _mtus(self, path, host):
        """Of the netdev that leads to a path, and what arrives at the other end and comes back."""
        physical = self.openstack.neutron.mtu
        if path == "host":  # what comes back may be fragmented
            return self.tunnel_mtu[host], self.path_mtu
        if path == "direct_vlan":
            return physical, self.path_mtu
        return physical - GENEVE, min(self.path_mtu, *self.tunnel_mtu.values()) - GENEVE

    def _host_address(self, host):
        return f"172.16.0.{11 + sorted(self.openstack.nova.hosts).index(host)}"

    def _path(self, machine, script):
        """The path to the address that a client connects to, and whether a security group blocks it."""
        found = re.search(r"(?:iperf3 -c |--report_gbits .*|ping .*)\b(\d+\.\d+\.\d+\.\d+)\b", script)
        target = re.search(r"iperf3 -c (\S+)", script) or found or re.search(r"dst='?([\d.]+)", script)
        target = target or re.search(r'"dst ([\d.]+)"', script) or re.search(r"tx-ip=.*,([\d.]+)", script)
        if target is None:
            return None, False
        if machine in self.packets:
            return "host", False
        neutron, address = self.openstack.neutron, str(ip_address(target[1]))
        ports = [
            neutron.objects["ports"][each["port_id"]]
            for each in neutron.of("floatingips", floating_ip_address=address)
        ]
        ports += [port for port in neutron.of("ports") if port["fixed_ips"][0]["ip_address"] == address]
        protocol = "udp" if re.search(r"iperf3 .* -u |ib_write|dst='", script) else "tcp"
        found = re.search(r"iperf3 -c .* -p (\d+)", script)
        number = 4791 if "ib_write" in script else int(found[1]) if found else 5001
        return ports[0]["name"].rstrip("0123456789"), not self._allowed(ports[0], protocol, number)

    def _allowed(self, port, protocol, number):
        if not port["port_security_enabled"] or not self.enforced:
            return True
        groups = self.openstack.neutron.objects["security-groups"]
        if number == 4791 and any(groups[group]["stateful"] for group in port["security_groups"]):
            return False  # RoCE does not get through connection tracking in the NIC
        return any(
            rule["protocol"] == protocol and rule["port_range_min"] <= number <= rule["port_range_max"]
            for group in port["security_groups"]
            for rule in self.openstack.neutron.of("security-group-rules", security_group_id=group)
            if rule["port_range_min"] is not None
        )

    def _count(self, path):
        share = self.in_nic.get(path, 1.0)
        for packets in self.packets.values():
            packets["total"] += 10_000_000
            if path != "host":
                packets["in"] += int(10_000_000 * share)
                packets["out"] += 10_000_000 - int(10_000_000 * share) + 40

    def _prepare(self, machine, host):
        """The machine's folder: its tools, the parts of sysfs that scripts read, and its addresses."""
        folder = self.folder / machine
        if not folder.exists():
            (folder / "bin").mkdir(parents=True)
            (folder / "tmp").mkdir()
            (folder / "run").mkdir()
            (folder / "proc/net/pktgen").mkdir(parents=True)
            (folder / "opt/trex/automation/trex_control_plane/interactive").mkdir(parents=True)
            for tool in TOOLS.split():
                if tool not in (self.missing if machine == host else self.uninstalled):
                    (folder / "bin" / tool).symlink_to(Path(__file__).with_name("tools.sh"))
            sysfs.make(folder, self.uplinks, self.openstack.neutron.mtu, node=machine == host)
            (folder / "addresses").write_text("" if machine == host else self._addresses(machine))
        if machine != host:
            self._gpu(folder)
            for device in (folder / "sys/devices").glob("*/infiniband/*/ports/1/hw_counters"):
                (device / "out_of_sequence").write_text(f"{self.lost}\n")
                (device / "local_ack_timeout_err").write_text("4\n")
        if machine == host:
            here = [
                n for n, each in self.openstack.nova.servers.items() if each["OS-EXT-SRV-ATTR:host"] == host
            ]
            (folder / "uuids").write_text("".join(f"{each}\n" for each in here))
            self._kernel(folder)
            for (port, side), value in self.switches.items():
                switch = folder / f"sys/class/net/{port}/ecn/roce_{side}/enable"
                switch.mkdir(parents=True, exist_ok=True)
                (switch / "3").write_text(f"{value}\n")
            total = self.packets[host]["total"]
            for number, port in enumerate((*self.uplinks, *MANAGEMENT)):
                shares = [(share, 1 - share, 0, 0)[number] for share in self.ports]
                counters = {
                    f"{way}_packets_phy": int(total * share)
                    for way, share in zip(("tx", "rx"), shares, strict=True)
                }
                counters |= {"rx_prio3_discards": 0, "rx_prio3_buf_discard": 0, "rx_prio3_pause": 12}
                if total and port in self.uplinks:
                    counters[self.discards] = self.dropped
                lines = [f"     {name}: {value}\n" for name, value in counters.items()]
                (folder / f"counters-{port}").write_text("".join(lines))
        return folder

    def _gpu(self, folder):
        """A server's GPU, with what its driver prints."""
        (folder / "smi").write_text(f"{self.smi}\n")
        if self.peermem:
            (folder / "sys/module/nvidia_peermem").mkdir(parents=True, exist_ok=True)
        devices = folder / "sys/bus/pci/devices"
        devices.mkdir(parents=True, exist_ok=True)
        if self.gpu:
            gpu = folder / "sys/devices" / self.gpu
            gpu.mkdir(parents=True, exist_ok=True)
            (gpu / "vendor").write_text("0x10de\n")
            (gpu / "class").write_text("0x030200\n")
            if not (devices / gpu.name).exists():
                (devices / gpu.name).symlink_to(gpu)

    def _kernel(self, folder):
        """The kernel's options, and the connections that it tracks of every address of a server."""
        (folder / "boot").mkdir(exist_ok=True)
        options = {"NET_TC_SKB_EXT": "y", "NET_ACT_CT": "m", "NF_FLOW_TABLE": "m"}
        lines = [f"CONFIG_{key}={value}\n" for key, value in options.items() if key not in self.lacks]
        (folder / "boot/config-5.15.0-48-generic").write_text("".join(lines))
        in_nic, total = self.connections
        rows = [TRACKED.format(LIVE, "192.0.2.9", n, "[ASSURED]") for n in (1, 2)]
        for port in self.openstack.neutron.of("ports", **{"binding:vnic_type": "direct"}):
            address = port["fixed_ips"][0]["ip_address"]
            if address.endswith(".10"):
                states = [("", "[HW_OFFLOAD]") if n < in_nic else (LIVE, "[ASSURED]") for n in range(total)]
                states.append(("57 TIME_WAIT ", "[ASSURED]"))  # of the measurement before
                rows += [TRACKED.format(now, address, n, mark) for n, (now, mark) in enumerate(states)]
                rows += [OTHERS.format(each, address) for each in ("icmp     1 25", "udp      17 92")]
        (folder / "proc/net/nf_conntrack").write_text("".join(rows))

    def _addresses(self, vm):
        (server,) = [each for each in self.openstack.nova.servers.values() if each["name"] == vm]
        ports = [self.openstack.neutron.objects["ports"][port] for port in server["ports"]]
        lines = [
            f"{NETDEVS[port['name'].rstrip('0123456789')]}             UP             "
            f"{port['fixed_ips'][0]['ip_address']}/24 metric 100 \n"
            for port in ports
        ]
        return "lo               UNKNOWN        127.0.0.1/8 \n" + "".join(lines)


class _Client(jujuclient.Client):
    """Juju's client, whose units are on these machines."""

    def __init__(self, machines):
        super().__init__(
            {**jujuclient.EMPTY, "models": {"rdg": machines.model}, "current": "rdg", "calls": []}
        )
        self.act, self.execute = machines.act, machines.run_on
