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

from lab.juju.deployed import Here
from lab.openstack import actions, sysfs
from lab.openstack.juju import model
from lab.openstack.neutron import GENEVE
from lab.openstack.sysfs import MANAGEMENT, NETDEVS
from lab.openstack.traffic import DATA, STEP, STEPS, WAYS, Traffic

TOOLS = (
    "sleep timeout setsid taskset nproc cloud-init ovs-vsctl systemd-run ip virsh ethtool ping mpstat iperf3 "
)
TOOLS += (
    "head modprobe uname ovs-appctl pkill systemctl ib_write_bw ib_write_lat dpdk-testpmd python3 nvidia-smi "
    "dpdk-devbind.py tcpdump"
)
ONE_PAIR = 38.0
"""Gb/s of one iperf3 pair (RDG)."""
LIMITS = {"host": 190.0, "normal": 24.0, "direct_overlay": 182.0, "direct_vlan": 184.0, "direct_nat": 178.0}
"""Gb/s that each path carries at most."""
CORES = 0.46
"""CPUs that a host spends on each Gb/s that its kernel forwards."""
CLOSED = 4999
BOND = ("enp63s0f0", "enp63s0f1")
SMI = "0, Disabled, Disabled, Enabled, 1410, 765, 1410"
"""nvidia-smi's output for a GPU that is as in the RDG."""
MARKS = {"tx_prio3_pause": 5, "rx_prio3_pause": 7, "np_ecn_marked_roce_packets": 11}


class Machines:
    """Everything behind `ssh` and `juju`; call it as a Process.

    Attributes:
        limits: Gb/s at most by path; "host", or the prefix of the servers' ports.
        in_nic: share of packets that the NIC forwards, by path.
        path_mtu: what the network carries, in bytes.
        silent: packets of ping without an answer on each machine, before the first one with an answer.
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
        model: the Juju model, as :mod:`lab.juju.cli` keeps it.
        failing: why an action fails, by its name.
        commands: each command line that was run here.
        traffic: who forwards the packets, and what counters show of it.
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
        self.traffic, self.said, self.now = Traffic(self.uplinks), {}, ("", "tcp", 0.0)
        self.packets = {host: {"in": 0, "out": 0, "total": 0} for host in openstack.nova.hosts}
        self.model, self.silent = model(sorted(openstack.nova.hosts)), 0

    def __call__(self, command, given, seconds, *, shown=False):
        self.commands.append(command)
        if command[0] == "ssh":
            return self._ssh(command[-2].partition("@")[2], given)
        assert command[0] == "juju"
        return _Client(self)(command, given, seconds)

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

    def act(self, unit, action, given):
        """Return the results of an action, in the form of :mod:`lab.juju.cli`."""
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
        """Return a stream's part of its path: all, or less beside a second one, which begins before it."""
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
        self.traffic.uplinks = self.uplinks
        self._sampler(host, folder, script)
        environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "FOLDER": str(folder), "CPUS": "20"}
        environment |= {"QUEUES": str(self.queues), "PIN": self.pin}
        mtu, path_mtu = self._mtus(path, host)
        environment |= {"ADDRESS": self._host_address(host), "MTU": str(mtu), "PATH_MTU": str(path_mtu)}
        environment |= {"BOOTED": "1" if self.uninstalled else "0"}
        environment |= {"PKTGEN_MISSING": "0" if self.pps else "1"}
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
        sends = r"iperf3 -c|ib_write_\w+ .* \d+\.\d+\.\d+\.\d+ |trex|txonly|pktgen/kpktgend"
        if path and not blocked and re.search(sends, script) and f"-p {CLOSED} " not in script:
            self.now = (host, self._kind(script), rate if self._pairs(script) else rdma)
            self.ends = (host, self._host_of(script))
            self._count(path, "ipv6" if ":" in self._target(script) else "ipv4")
            self.lost += self.gaps * ("ib_write_bw" in script)
        return Output(done.returncode, done.stdout, done.stderr)

    def _generated(self, path, script):
        """Return the packets of the kernel's generator that the server's netdev has received."""
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

    @staticmethod
    def _target(script):
        """The address that a client sends to; None of other scripts."""
        found = re.search(r"(?:iperf3 -c |--report_gbits .*|ping .*)\b(\d+\.\d+\.\d+\.\d+)\b", script)
        target = re.search(r"iperf3 -c (\S+)", script) or found or re.search(r"dst='?([\d.]+)", script)
        target = target or re.search(r'"dst ([\d.]+)"', script) or re.search(r"tx-ip=.*,([\d.]+)", script)
        target = target or re.search(r"ping .* ([0-9a-f]+:[0-9a-f:]+) ", script)
        return target[1] if target else None

    def _ports_of(self, script):
        """Neutron's ports that have this address."""
        neutron, address = self.openstack.neutron, str(ip_address(self._target(script)))
        ports = [
            neutron.objects["ports"][each["port_id"]]
            for each in neutron.of("floatingips", floating_ip_address=address)
        ]
        return ports + [
            port
            for port in neutron.of("ports")
            if any(fixed["ip_address"] == address for fixed in port["fixed_ips"])
        ]

    def _path(self, machine, script):
        """The path to the address that a client connects to, and whether a security group blocks it."""
        if self._target(script) is None:
            return None, False
        if machine in self.packets:
            return "host", False
        ports = self._ports_of(script)
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

    def _count(self, path, family):
        """One measurement's packets, and what Open vSwitch says of them."""
        _, kind, rate = self.now
        share = self.in_nic.get(path, 1.0)
        size = int(rate * 1e9 / 8 * STEPS * STEP / DATA)
        slow = self.traffic.carry(path, kind, family, self.ends, self.ports, share, size)
        if path not in self.cores:
            self.spends = 0.3 + CORES * rate * slow
        for host in self.ends:
            packets = self.packets[host]
            packets["total"] += DATA
            if path != "host":
                inside = int(DATA * self.traffic.told(path, kind, family, host, share))
                packets["in"] += inside
                packets["out"] += DATA - inside + 40

    def _sampler(self, host, folder, script):
        """A node's sampler begins, or what it has written is read."""
        if "--unit=acceptance-cpu" in script:
            ids = re.search(r"for id in ([^;\n]*); do", script)
            self.traffic.begin(host, [f"enp63s0f0npf0vf{number}" for number in range(len(ids[1].split()))])
            self.said[host] = dict(self.packets[host])
        elif "head -c" in script and "acceptance-cpu" in script:
            now, then = self.packets[host], self.said.get(host, {})
            # The counters of flows that have ended are gone.
            inside, outside = (now[key] - then.get(key, 0) for key in ("in", "out"))
            inside, outside = (
                grown if grown >= 0 else now[key] for key, grown in (("in", inside), ("out", outside))
            )
            if host in self.traffic.silent:
                inside = outside = 0
            words = [f"flows {2 * bool(inside + outside)} {inside} {outside}"]
            words = words if self.traffic.hosts[host].own else []
            (folder / "series").write_text(self.traffic.series(host, self.spends, words))

    def _host_of(self, script):
        """The compute node of whom a client sends to."""
        for port in self._ports_of(script):
            return self.openstack.nova.servers[port["device_id"]]["OS-EXT-SRV-ATTR:host"]
        target = self._target(script)
        return next(host for host in self.packets if self._host_address(host) == target)

    @staticmethod
    def _kind(script):
        if "ib_write" in script:
            return "rdma"
        return "udp" if re.search(r" -u |pktgen|txonly|trex", script) else "tcp"

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
            (folder / "silent").write_text("\n" * self.silent)
        if machine != host:
            sysfs.gpu(folder, self.gpu, self.smi, loaded=self.peermem)
            for device in (folder / "sys/devices").glob("*/infiniband/*/ports/1/hw_counters"):
                (device / "out_of_sequence").write_text(f"{self.lost}\n")
                (device / "local_ack_timeout_err").write_text("4\n")
        if machine == host:
            here = [
                n for n, each in self.openstack.nova.servers.items() if each["OS-EXT-SRV-ATTR:host"] == host
            ]
            (folder / "uuids").write_text("".join(f"{each}\n" for each in here))
            ports = self.openstack.neutron.of("ports", **{"binding:vnic_type": "direct"})
            addresses = [port["fixed_ips"][0]["ip_address"] for port in ports]
            sysfs.kernel(
                folder, self.lacks, self.connections, [each for each in addresses if each.endswith(".10")]
            )
            for (port, side), value in self.switches.items():
                switch = folder / f"sys/class/net/{port}/ecn/roce_{side}/enable"
                switch.mkdir(parents=True, exist_ok=True)
                (switch / "3").write_text(f"{value}\n")
            sysfs.links(folder, host, self.uplinks, self.traffic)
            total, counted = self.packets[host]["total"], self.traffic.total.get(host, {})
            for port in (*self.uplinks, *MANAGEMENT):
                counters = {
                    f"{word}_packets_phy": counted.get(("wire", port, way), 0) for way, word in WAYS.items()
                }
                counters |= {"rx_prio3_discards": 0, "rx_prio3_buf_discard": 0, "rx_prio3_pause": 12}
                if total and port in self.uplinks:
                    counters[self.discards] = self.dropped
                lines = [f"     {name}: {value}\n" for name, value in counters.items()]
                (folder / f"counters-{port}").write_text("".join(lines))
        return folder

    def _addresses(self, vm):
        (server,) = [each for each in self.openstack.nova.servers.values() if each["name"] == vm]
        ports = [self.openstack.neutron.objects["ports"][port] for port in server["ports"]]
        lines = [
            f"{NETDEVS[port['name'].rstrip('0123456789')]}             UP             "
            f"{port['fixed_ips'][0]['ip_address']}/24 metric 100 \n"
            for port in ports
        ]
        return "lo               UNKNOWN        127.0.0.1/8 \n" + "".join(lines)


class _Client(Here):
    """Juju's client, whose units are on these machines."""

    def __init__(self, machines):
        super().__init__(machines.model, models={"rdg": machines.model}, current="rdg")
        self.act, self.execute = machines.act, machines.run_on
