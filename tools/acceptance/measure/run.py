# SPDX-License-Identifier: Apache-2.0
"""Climbs the ladder: sets the ports' security for each rung, probes, measures, takes evidence around it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from converge import StepError
from operate.process import Process

from acceptance.cloud import Cloud
from acceptance.measure import congestion, cpu, evidence, gpu, parse, tracking, witness
from acceptance.measure.evidence import Evidence, Sample
from acceptance.measure.ladder import RUNGS, Rung, lacks, measures, second_client, skipped
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult
from acceptance.measure.script import GRACE, Run, Script
from acceptance.measure.shells import UPLINKS, Node, Shell, Ssh, add_address, netdev_of
from acceptance.measure.tools import EARLIER, WAIT, Measure, ask_closed, serve_closed, title
from acceptance.sitefile import SiteFile
from acceptance.wanted import DPDK_PORT, GENEVE, VF_PORTS

HOST_LENGTH, GUEST_LENGTH = 76, 18
"""Bytes of UDP payload (Cloud.ru): Geneve adds 58 to a guest's, so that both are 122 bytes on the wire."""
BOOTS = 900
"""Seconds for cloud-init in a server: it installs packages."""
FRAMED = 8
"""Bytes of VLAN tag and checksum, which an uplink counts and a VF does not."""
DEVICE = f"""\
{UPLINKS}
for port in $(uplinks); do ls /sys/class/net/$port/device/infiniband 2>/dev/null; done | head -1
"""
"""Prints the uplinks' RDMA device. rdma_cm does not take a host's overlay address, Open vSwitch's."""
ENCAP = "ovs-vsctl get Open_vSwitch . external_ids:ovn-encap-ip | tr -d '\"' | cut -d, -f1"
"""Prints the host's tunnel endpoint, the first one where OVN has several."""
MEASURED = (*VF_PORTS, DPDK_PORT)
"""Ports of each server whose security changes from rung to rung."""
SECOND = "second stream in Gb/s"
"""A detail of what is measured beside a second stream."""
Say = Callable[[str], None]


@dataclass
class End:
    """One end of a rung: a shell, its address there, its compute node and RDMA device where known.

    `vf` is the id of its port in Neutron, if the port has a VF.
    """

    name: str
    shell: Shell
    address: str
    node: Node | None
    cpus: int
    device: str = ""
    vf: str = ""


class Watch(NamedTuple):
    """The counters to read on compute nodes during the measurements of a rung.

    Attributes:
        ends: whose nodes are looked at.
        tracked: whether connections are tracked.
        overhead: bytes that a VF's packet has more on the wire.

    """

    ends: tuple[End, ...]
    tracked: bool
    overhead: int


@dataclass
class Climber:
    """The means to measure: the cloud's objects, the compute nodes by host, and processes on this machine.

    Without compute nodes, what is on them is neither measured nor looked at.
    """

    cloud: Cloud
    site: SiteFile
    hosts: dict[str, str]
    nodes: dict[str, Node]
    process: Process
    folder: Path
    say: Say
    rungs: tuple[Rung, ...] = RUNGS
    ready: set[str] = field(default_factory=set[str])
    """Servers whose first boot is done."""

    def climb(self, results: Results, path: Path) -> None:
        """Measure each rung that has no result yet, and write the results after each."""
        try:
            for rung in self.rungs:
                if rung.key not in results.rungs:
                    self.say(rung.title)
                    results.rungs[rung.key] = self.rung(rung)
                    results.write(path)
        finally:
            for vm in self.hosts:
                for key in (f"port {prefix}{vm.removeprefix('vm')}" for prefix in MEASURED):
                    if key in self.cloud.objects:
                        self.cloud.secure(key, "data_policy")
        results.finished = True
        results.write(path)

    def rung(self, rung: Rung) -> RungResult:
        """One rung; what fails becomes a problem of it, and the next rung is still measured."""
        result = RungResult()
        wanted: list[Measure] = []
        hosts = [self.hosts[name] for name in self._servers(rung) if name in self.hosts]
        for measure in measures(rung, self.site):
            reason = (
                lacks(measure, self.site) or self._absent(rung) or skipped(rung, measure, self.site, hosts)
            )
            if reason:
                result.skipped[measure.key] = reason
            else:
                wanted.append(measure)
        for reason in dict.fromkeys(result.skipped.values()):
            for key in (key for key, why in result.skipped.items() if why == reason):
                self.say(f"  {title(key)}: skipped, since {reason}")
        if wanted:
            try:
                self._climb(rung, wanted, result)
            except StepError as error:
                result.problems[""] = _sentence(error)
                self.say(f"  {result.problems['']}")
        return result

    def _servers(self, rung: Rung) -> list[str]:
        """Return the servers that a rung uses, each once."""
        second = second_client(rung, self.site, list(self.hosts))
        return list(dict.fromkeys(filter(None, (rung.client, rung.server, second))))

    def _absent(self, rung: Rung) -> str:
        """Which port or server of a rung this user could not have made; "" if all are there."""
        if rung.port and f"port {rung.port}1" not in self.cloud.objects:
            return f"only an administrator can make its ports {rung.port}"
        if self.site.other_rack and rung.server not in self.hosts:
            return "only an administrator can place a server in the other rack"
        return ""

    def _climb(self, rung: Rung, wanted: list[Measure], result: RungResult) -> None:
        client, server = self._end(rung, rung.client), self._end(rung, rung.server)
        target, back = self._targets(rung, client, server)
        missing = _missing([client, server], {tool for measure in wanted for tool in measure.tools})
        for end in (client, server):
            if rung.port:
                result.guests[end.name] = evidence.guest(end.shell, end.address)
        overhead = 0 if rung.port in ("", "direct_vlan") else GENEVE
        result.probed = self.site.mtu - overhead
        result.probe = _probe(result.probed, (client, target), (server, back))
        if rung.group:
            result.refused = _refused(server, client, target)
        second = second_client(rung, self.site, list(self.hosts))
        other = self._end(rung, second) if second not in ("", client.name) else client
        ends = tuple({end.name: end for end in (client, server, other)}.values())
        watch = Watch(ends, rung.tracked, (GENEVE if overhead else 0) + FRAMED)
        first = self._samples(client, server, other)
        for measure in wanted:
            length = GUEST_LENGTH if rung.port else HOST_LENGTH
            run = Run(target, client.address, self.site.seconds, client.cpus, length, client.device)
            serve = measure.serve(run._replace(device=server.device))
            result.commands[measure.key] = f"# {server.name}\n{serve}\n# {client.name}\n{measure.ask(run)}"
            try:
                for tool in measure.tools:
                    if tool in missing:
                        raise StepError(missing[tool])
                if "cuda" in measure.software:
                    self._gpus(client, server, result)
                with self._watched(watch, measure, run, result):
                    figure = (
                        self._contended(measure, measure.beside, run, client, server, other, result)
                        if measure.beside
                        else self._measure(measure, run, client, server)
                    )
            except StepError as error:
                result.problems[measure.key] = _sentence(error)
                self.say(f"  {measure.title}: {result.problems[measure.key]}")
                continue
            result.figures[measure.key] = figure
            self.say(f"  {measure.title}: {figure}")
        last = self._samples(client, server, other)
        result.evidence = {name: Evidence(first[name], last[name]) for name in last}
        for end in (client, server):
            if begin := result.guests.get(end.name):
                now = evidence.guest(end.shell, end.address)
                result.guests[end.name] = now._replace(lost=max(now.lost - begin.lost, 0))

    def _gpus(self, client: End, server: End, result: RungResult) -> None:
        """Look at the servers' GPUs before they are used.

        Raises:
            StepError: what is missing for RDMA with a GPU's memory, of both servers.

        """
        needs: list[str] = []
        for end in (client, server):
            told = gpu.read(end.shell.run(gpu.look(end.address), 3 * GRACE))
            result.gpus[end.name] = told.costs
            needs += [f"{end.name}: {sentence}" for sentence in told.needs]
            for sentence in told.costs:
                self.say(f"  {end.name}: {sentence}")
        if needs:
            raise StepError("; ".join(needs))

    def _contended(
        self,
        measure: Measure,
        beside: Script,
        run: Run,
        client: End,
        server: End,
        other: End,
        result: RungResult,
    ) -> Figure:
        """Measure while the second client's stream loads the same port."""
        seen = {end.node.name: end.node for end in (client, server, other) if end.node}
        result.protection = {name: congestion.protection(node) for name, node in seen.items()}
        if reason := congestion.unprotected(measure.key, result.protection):
            raise StepError(reason)
        server.shell.run(f"{EARLIER}\n{measure.serve(run)}", GRACE)
        second = beside(run._replace(client=other.address))
        result.commands[measure.key] += f"\n# {other.name}, before that\n{second}"
        other.shell.run(second, GRACE)
        figure = measure.read(client.shell.run(measure.ask(run), run.seconds + 3 * GRACE))
        loaded = measure.read(other.shell.run(WAIT, 4 * GRACE))
        return figure._replace(details={**figure.details, SECOND: loaded.value})

    @contextmanager
    def _watched(self, watch: Watch, measure: Measure, run: Run, result: RungResult) -> Generator[None]:
        """Count CPUs and packets on the compute nodes, and connections that they track, meanwhile."""
        sampled: list[Node] = []
        addresses = {run.server, *(end.address for end in watch.ends)}
        look = tracking.look(addresses) if watch.tracked else ":"
        for node in {end.node.name: end.node for end in watch.ends if end.node}.values():
            beside = witness.script((end.vf for end in watch.ends if end.node is node and end.vf), addresses)
            with self._known(node, result):
                cpu.start(node, run.seconds, beside, look)
                sampled.append(node)
        try:
            yield
        finally:
            for node in sampled:
                with self._known(node, result):
                    told = cpu.stop(node)
                    if found := tracking.read(told):
                        result.tracked[node.name] = found
                    if seen := witness.read(told, watch.overhead, cpu.before(told)):
                        result.witnesses.setdefault(measure.key, {})[node.name] = seen
                    result.cores.setdefault(measure.key, {})[node.name] = cpu.cores(told, run.seconds)

    @contextmanager
    def _known(self, node: Node, result: RungResult) -> Generator[None]:
        """Note why a node's CPU is not known, and go on."""
        try:
            yield
        except StepError as error:
            result.uncounted[node.name] = _sentence(error)

    def _measure(self, measure: Measure, run: Run, client: End, server: End) -> Figure:
        serve = measure.serve(run._replace(device=server.device))
        server.shell.run(f"{EARLIER}\n{serve}", GRACE)
        if measure.meanwhile and client.node:
            client.node.run(measure.meanwhile, GRACE)
        told = client.shell.run(measure.ask(run), run.seconds + 3 * GRACE)
        if measure.collect:
            told = server.shell.run(measure.collect(run), GRACE)
        return measure.read(told)

    def _samples(self, *ends: End) -> dict[str, Sample]:
        servers = {host: self.cloud.objects[f"server {vm}"] for vm, host in self.hosts.items()}
        # virsh takes the id as well, where Nova does not tell the name.
        instances = {host: each["instance_name"] or each["id"] for host, each in servers.items()}
        seen = [end.node for end in ends if end.node]
        return {node.name: evidence.sample(node, instances[node.name]) for node in seen}

    def _end(self, rung: Rung, vm: str) -> End:
        node = self.nodes.get(self.hosts[vm])
        if not rung.port and node:
            address, device = (node.run(script, GRACE).strip() for script in (ENCAP, DEVICE))
            return End(node.name, node, address, node, 0, device)
        number = vm.removeprefix("vm")
        key = f"port {rung.port}{number}"
        if rung.port in MEASURED and rung.group is not None:
            self.cloud.secure(key, rung.group)
        address = self._address(key, 4)
        shell = self._shell(vm)
        if vm not in self.ready:
            self.say(f"  Waiting until {vm} has installed its packages")
            # It also fails if a package could not be installed; _missing() says which tool that concerns.
            shell.run("cloud-init status --wait > /dev/null 2>&1 || true", BOOTS)
            self.ready.add(vm)
        if rung.ipv6:
            own, address = address, self._address(key, 6)
            shell.run(add_address(own, address), GRACE)
        vf = self.cloud.objects[key]["id"] if rung.port in VF_PORTS else ""
        return End(vm, shell, address, node, self.site.flavor.vcpus, vf=vf)

    def _address(self, key: str, version: int) -> str:
        """A port's address of this version of IP.

        Raises:
            StepError: it has none.

        """
        for fixed in self.cloud.objects[key]["fixed_ips"]:
            if ip_address(fixed["ip_address"]).version == version:
                return fixed["ip_address"]
        raise StepError(f"{key} has no IPv{version} address", "run destroy, then apply again")

    def _shell(self, vm: str) -> Ssh:
        floating = self.cloud.objects[f"floating ip normal{vm.removeprefix('vm')}"]["floating_ip_address"]
        known = self.folder / f"known-hosts-{self.cloud.objects[f'server {vm}']['id']}"
        key = Path(self.site.public_key).expanduser().with_suffix("")
        return Ssh(self.process, vm, f"{self.site.image_user}@{floating}", key, known)

    def _targets(self, rung: Rung, client: End, server: End) -> tuple[str, str]:
        """Return the addresses at which the two ends reach each other; floating IPs need routes first."""
        if not rung.floating:
            return server.address, client.address
        gateway = self.cloud.objects["port nat_gateway"]["fixed_ips"][0]["ip_address"]
        addresses = {
            end.name: self.cloud.objects[f"floating ip {rung.port}{end.name.removeprefix('vm')}"][
                "floating_ip_address"
            ]
            for end in (client, server)
        }
        for end, other in ((client, server), (server, client)):
            netdev = netdev_of(end.address)
            end.shell.run(f"ip route replace {addresses[other.name]} via {gateway} dev {netdev}", GRACE)
        return addresses[server.name], addresses[client.name]


def _probe(mtu: int, *ways: tuple[End, str]) -> str:
    """Why the largest unfragmented packet does not arrive from an end at an address; "" if all do.

    A reply to ping may be fragmented, so that a wrong MTU of a netdev may be seen from its own end only.
    """
    for end, address in ways:
        if reason := evidence.probe(end.shell, address, mtu):
            return f"from {end.name}: {reason}"
    return ""


def _refused(server: End, client: End, target: str) -> str | None:
    """Return the client's words on a port that security groups close; see RungResult.refused."""
    run = Run(target, client.address, GRACE, client.cpus, 0)
    server.shell.run(serve_closed(run), GRACE)
    return parse.refusal(client.shell.run(ask_closed(run), GRACE))


def _missing(ends: list[End], tools: set[str]) -> dict[str, str]:
    """Why measurements with some tools are impossible, by tool."""
    look = f"for tool in {' '.join(sorted(tools))}; do command -v $tool > /dev/null || echo $tool; done"
    lacking: dict[str, list[End]] = {}
    for end in ends if tools else ():
        for tool in end.shell.run(look, GRACE).split():
            lacking.setdefault(tool, []).append(end)
    return {tool: _not_installed(tool, without) for tool, without in lacking.items()}


def _not_installed(tool: str, ends: list[End]) -> str:
    nodes = [end.node for end in ends if end.node and end.shell is end.node]
    if nodes:
        units = ",".join(node.units["nova-compute"] for node in nodes)
        remedy = f"run: juju exec --unit {units} -- apt-get install -y iperf3 perftest sysstat"
    else:
        remedy = "the server needs a package archive: see /var/log/cloud-init-output.log there"
    return f"{tool} is not installed on {' and '.join(end.name for end in ends)}; {remedy}"


def _sentence(error: StepError) -> str:
    return "; ".join(filter(None, (error.reason, error.remedy)))
