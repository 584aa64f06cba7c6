# SPDX-License-Identifier: Apache-2.0
"""Each declared property of a port and of the host, compared once with what is there. Pure.

Hooks and boot units plan from these verdicts; the status, the exporter, `show-qos` and the requests to
nic-firmware read the same ones.
"""

import enum
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from converge import Disruption, Finding, Op, Severity, Step
from desired import Desired
from hostnic.devices.port import MLX5
from hostnic.devices.rdma import RdmaPort
from hostnic.devices.vlan import Vlan
from hostnic.netlink import dcb
from hostnic.netlink.dcb import Dcb, dcbx_words
from hostnic.ops.dcb import SetApps, SetEts, SetPause, SetPfc, TakeDcbx
from hostnic.ops.lldp import DropIn, SetLldp, StopLldpad
from hostnic.ops.marking import ENCAP_TOS, SetAttribute, SetEgressMap, SetEncapTos, SetRoceDefaults
from hostnic.ops.members import InTurn
from hostnic.system import HostStep, Pause, System
from observed import RAW, Observed, QosPort, cc_param_path, ecn_attributes

DCBX, DSCP_MAP, CONNECTIONS = "DCBX", "DSCP map", "RDMA ToS"
"""Names of verdicts that others look for."""
OFF = Pause(rx=False, tx=False)
GONE = (
    "see the kernel log, and lspci -k for the driver that has it; if the NIC was removed, name the remaining "
    "ports in option devices, such as bond0"
)


class Phase(enum.Enum):
    """The subject of a verdict, as far as the order of the steps depends on it: see :mod:`plan`."""

    DAEMON = "the daemon that sets data centre bridging, too"
    BRIDGING = "data centre bridging of a port"
    LLDP = "LLDP of a port"
    VLANS = "egress maps of VLAN devices"
    BACK = "what RDMA and VLAN devices of a released port get back"
    TUNNELS = "tunnels of OVN"
    RDMA = "connections and congestion control of RDMA"


class Verdict(NamedTuple):
    """One property: as it is, as it is declared, and what mends the difference."""

    name: str  # as `show-qos` has it
    phase: Phase
    now: Any = None
    wanted: Any = None
    step: HostStep | None = None  # what mends it, also where it may not run now; the same of some verdicts
    finding: Finding | None = None  # why it has no effect, or why the operator has to decide first
    words: Callable[[Any], str] = str  # what `now` and `wanted` are called
    ports: tuple[str, ...] = ()  # of the host's own: PCI addresses of the ports that are not right without it

    @property
    def right(self) -> bool:
        """Whether it is as declared."""
        return self.step is None


class Judged(NamedTuple):
    """One port, and the verdicts on it, in the order in which its driver needs the steps."""

    port: QosPort
    verdicts: tuple[Verdict, ...]

    def steps(self, phase: Phase) -> list[HostStep]:
        """The steps of this phase, each once."""
        return _steps(self.verdicts, phase)

    @property
    def right(self) -> bool:
        """Whether all of the port's own is as declared."""
        return self.port.dcb is not None and all(verdict.right for verdict in self.verdicts)


class Judgement(NamedTuple):
    """The host."""

    ports: tuple[Judged, ...]  # the declared ones that are there
    host: tuple[Verdict, ...]  # of no single port
    gone: tuple[Finding, ...] = ()  # declared ports that are not there; the others are set all the same
    notes: tuple[Finding, ...] = ()  # options that have no effect here
    returned: tuple[Judged, ...] = ()  # ports that `auto` has released: what they do not have back yet

    def steps(self, phase: Phase) -> list[HostStep]:
        """The steps of this phase, each once: both ports of a bond may share an RDMA device."""
        ports = (verdict for judged in (*self.ports, *self.returned) for verdict in judged.verdicts)
        return _steps((*self.host, *ports), phase)

    def right(self, bdf: str) -> bool:
        """Whether this port is as declared, together with those settings of the host that it needs."""
        own = all(judged.right for judged in self.ports if judged.port.bdf == bdf)
        return own and all(verdict.right for verdict in self.host if bdf in verdict.ports)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on settings without effect, and on the operator's decisions before any change."""
        verdicts = (*self.host, *(verdict for judged in self.ports for verdict in judged.verdicts))
        found = (verdict.finding for verdict in verdicts if verdict.finding)
        return tuple(dict.fromkeys((*self.notes, *found)))


def _steps(verdicts: tuple[Verdict, ...], phase: Phase) -> list[HostStep]:
    steps = (verdict.step for verdict in verdicts if verdict.phase is phase)
    return list({step.key: step for step in steps if step}.values())


def judge(wanted: Desired, observed: Observed) -> Judgement:
    """Compare what is declared with the host."""
    ports = observed.among(wanted.ports)
    known = {port.bdf for port in ports} | {finding.subject for finding in observed.findings}
    gone = (bdf for bdf in wanted.ports if bdf not in known)
    return Judgement(
        ports=tuple(Judged(port, tuple(_port(wanted, port))) for port in ports),
        host=(*_lldpad(wanted, observed), *_vlans(wanted, observed, ports), *_tunnels(wanted, observed)),
        gone=tuple(Finding(Severity.BLOCKED, bdf, "the port has no netdev", GONE) for bdf in gone),
        notes=tuple(_without_effect(wanted, ports)),
    )


def _without_effect(wanted: Desired, ports: tuple[QosPort, ...]) -> Iterator[Finding]:
    """Name the settings that are allowed but will not have the intended effect on these ports."""
    scheme, roce, dscp = wanted.qos, wanted.qos.roce, wanted.tos >> 2
    if scheme.trust == "dscp" and (priority := wanted.priority(dscp)) != roce.priority:
        what = f"{wanted.tos} is DSCP {dscp}, which has priority {priority}, not RoCE's"
        remedy = f"set rdma-tos to {roce.dscp << 2 | 2}"
        yield Finding(Severity.WARNING, "rdma-tos", what, remedy)
    if roce.priority not in scheme.ets and roce.priority:
        what = f"RoCE's priority {roce.priority} has no class of its own and shares class 0"
        yield Finding(Severity.WARNING, "ets", what, f"give class {roce.priority} a share")
    if not scheme.pfc:
        yield Finding(Severity.INFO, "pfc-priorities", "is none: RoCE may lose packets")
    if wanted.cable and any(port.driver.name == MLX5 for port in ports):
        # en_dcbnl.c: mlx5e_dcbnl_ieee_setpfc uses it with dcbx.manual_buffer only, which set buffers turn on.
        what = f"ConnectX stores {wanted.cable} m but does not use it unless buffers are set manually"
        remedy = "set cable-length=0, or set the buffers (dcb buffer, mlnx_qos)"
        yield Finding(Severity.WARNING, "cable-length", what, remedy)
    if wanted.cable and (lacking := [port.netdev for port in ports if not port.cable]):
        what = f"{wanted.cable} m is not set on {', '.join(lacking)}: driver or firmware has no such value"
        yield Finding(Severity.INFO, "cable-length", what)
    limits = {port.driver.name: port.driver.limit for port in ports if port.driver.limit}
    for name, limit in sorted(limits.items()):
        yield Finding(Severity.INFO, name, limit)


def _port(wanted: Desired, port: QosPort) -> Iterator[Verdict]:
    if port.dcb is not None:
        if port.dcb.dcbx is not None:
            yield _dcbx(wanted, port, port.dcb, port.dcb.dcbx)
        yield _shares(wanted, port, port.dcb)
        yield _entries(wanted, port, port.dcb)
        if port.pause is not None:
            yield _pause(wanted, port, port.pause)
        yield from _pfc(wanted, port, port.dcb)
    if port.rdma:
        yield _connections(wanted, port, port.rdma)
    yield from _congestion(wanted, port)
    if port.drop_in is not None:
        yield _lldp(wanted, port, port.drop_in)


def bridging(
    port: QosPort,
    setting: str,
    what: str,
    why: str,
    op: Op[System],
    disruption: Disruption = Disruption.NONE,
) -> HostStep:
    """A step for data centre bridging of the port.

    One that takes the link down with this driver is refused while no other port of the bond carries traffic.
    """
    if disruption >= Disruption.LINK_FLAP:
        op = InTurn(op, port.netdev, port.bond, port.others)
    return Step(f"{port.bdf}/{setting}", what, why, disruption, op, port.port.nic)


def cost(port: QosPort, setting: str, *, trusts: bool = False) -> Disruption:
    """Return a change's cost with the port's driver; ``trusts``: the port trusts another marking after it."""
    flaps = setting in port.driver.flaps or (trusts and port.port.device in port.driver.flaps_with_trust)
    return Disruption.LINK_FLAP if flaps else Disruption.NONE


def _lldpad(wanted: Desired, observed: Observed) -> Iterator[Verdict]:
    """The daemon that would fight over data centre bridging; ports may be right in spite of it."""
    if not observed.lldpad:
        return
    why = "it sets data centre bridging, too"
    step = Step("lldpad", "stop lldpad, and keep it from starting", why, Disruption.NONE, StopLldpad())
    finding = None
    if not wanted.takeover:
        what = "runs, and sets data centre bridging, too"
        finding = Finding(Severity.BLOCKED, "lldpad", what, "remove it, or set dcbx-takeover=true")
    yield Verdict("lldpad", Phase.DAEMON, True, False, step, finding)


def _dcbx(wanted: Desired, port: QosPort, found: Dcb, mode: int) -> Verdict:
    """Who controls data centre bridging; it is taken over from the firmware only where that is allowed."""
    if port.driver.may_set(found):
        return Verdict(DCBX, Phase.BRIDGING, mode, mode, words=dcbx_words)
    ask = port.driver.dcbx_ask
    op = TakeDcbx(port.netdev, ask, port.driver.dcbx, port.driver.agent.format(port.netdev))
    what, why = f"take over DCBX of {port.netdev}", f"its mode is {dcbx_words(mode)}"
    step = bridging(port, "dcbx", what, why, op, cost(port, dcb.MODE))
    finding = None if wanted.takeover else _in_others_hands(port, mode)
    return Verdict(DCBX, Phase.BRIDGING, mode, ask, step, finding, dcbx_words)


def _in_others_hands(port: QosPort, mode: int) -> Finding:
    what = f"the firmware controls data centre bridging (DCBX mode {dcbx_words(mode)})"
    remedy = "set dcbx-takeover=true, or switch off DCBX in the NIC's firmware"
    if mode & dcb.HOST:
        what = f"its driver takes no settings in DCBX mode {dcbx_words(mode)}"
        remedy = "set dcbx-takeover=true, or leave the port out of option devices"
    elif port.driver.agent:
        remedy = f"{port.driver.agent.format(port.netdev)}; or leave it out of option devices"
    return Finding(Severity.BLOCKED, port.netdev, what, remedy)


def _shares(wanted: Desired, port: QosPort, found: Dcb) -> Verdict:
    step = None
    if found.ets != wanted.ets:
        what, why = f"set traffic classes and shares of {port.netdev}", f"they are {ets_words(found.ets)}"
        step = bridging(port, "ets", what, why, SetEts(port.netdev, wanted.ets), cost(port, dcb.SHARES))
    return Verdict("ETS", Phase.BRIDGING, found.ets, wanted.ets, step, words=ets_words)


def _entries(wanted: Desired, port: QosPort, found: Dcb) -> Verdict:
    """Trust, the map of DSCPs, and where a driver has it the priority of RoCE's ethertype and UDP port."""
    driver, step = port.driver, None
    op = SetApps(port.netdev, (dcb.DSCP,) if driver.dscp else (), wanted.apps(driver))
    declared = {app.protocol: app.priority for app in op.apps if app.selector == dcb.DSCP}
    if missing := set(op.apps) ^ op.ours(found.apps):
        packets = ["DSCPs"] * driver.dscp + ["RoCE's ethertype and UDP port"] * driver.ports
        what = f"map {' and '.join(packets)} of {port.netdev} to priorities"
        why = f"trust is {port.trust}, {len(missing)} entries differ"
        trusts = bool(declared) != bool(port.dscp_map)
        step = bridging(port, "apps", what, why, op, cost(port, dcb.ENTRIES, trusts=trusts))
    return Verdict(DSCP_MAP, Phase.BRIDGING, port.dscp_map, declared, step)


def _pause(wanted: Desired, port: QosPort, found: Pause) -> Verdict:
    step = None
    if wanted.qos.pfc and found != OFF:
        what, op = f"turn global pause frames of {port.netdev} off", SetPause(port.netdev, on=False)
        step = bridging(port, "pause", what, "they exclude PFC", op, cost(port, dcb.PAUSE))
    return Verdict("global pause", Phase.BRIDGING, found != OFF, found != OFF and not step, step, words=on)


def _pfc(wanted: Desired, port: QosPort, found: Dcb) -> Iterator[Verdict]:
    """Lossless priorities, and the length of cable that their buffers are made for: one request sets both."""
    priorities, runs = wanted.qos.pfc, found.pfc.priorities if found.pfc else None
    cable = wanted.cable if port.cable else 0
    op, step = SetPfc(port.netdev, priorities, cable), None
    if runs != priorities:
        what = f"set lossless priorities of {port.netdev} to {pfc_words(priorities)}"
        step = bridging(port, "pfc", what, f"they are {pfc_words(runs)}", op, Disruption.LINK_FLAP)
    yield Verdict("PFC", Phase.BRIDGING, runs, priorities, step, words=pfc_words)
    if not port.cable:
        return
    if cable in (0, port.cable):
        step = None
    elif step is None:
        what = f"set the cable length of {port.netdev} to {cable} m"
        step = bridging(port, "pfc", what, f"it is {port.cable} m", op)
    yield Verdict("cable length", Phase.BRIDGING, port.cable, cable or port.cable, step, words="{} m".format)


def _lldp(wanted: Desired, port: QosPort, drop_in: DropIn) -> Verdict:
    """LLDP through networkd."""
    step = None
    if drop_in.there != wanted.lldp:
        what = f"have networkd send and receive LLDP on {port.netdev}"
        if not wanted.lldp:
            what = f"stop networkd from using LLDP on {port.netdev}"
        why = "the fabric's wiring is checked with it" if wanted.lldp else "option lldp is off"
        op, part = SetLldp(drop_in.path, wanted.lldp), f"LLDP of {port.netdev}"
        step = Step(drop_in.path, what, why, Disruption.NONE, op, part)
    return Verdict("LLDP", Phase.LLDP, drop_in.there, wanted.lldp, step, words=on)


def _connections(wanted: Desired, port: QosPort, rdma: RdmaPort) -> Verdict:
    """Defaults of new RDMA connections, where the port's device has any."""
    defaults, now = wanted.defaults, port.defaults
    if port.no_defaults == RAW:
        what = "only does raw Ethernet in switchdev mode: rdma-tos and roce-mode have no effect"
        finding = Finding(Severity.INFO, rdma.device, what, "RDMA of instances carries what they set")
        return Verdict(CONNECTIONS, Phase.RDMA, RAW, RAW, finding=finding)
    if port.no_defaults:
        return Verdict(CONNECTIONS, Phase.RDMA, port.no_defaults, defaults.words)
    step = None
    if now != defaults:
        what = f"set {defaults.mode} and ToS {defaults.tos} for new connections of {rdma.device}"
        why = f"ToS is {now.words}" if now else "they were never set"
        key, op = f"{rdma.device}/{rdma.number}/defaults", SetRoceDefaults(rdma, defaults)
        step = Step(key, what, why, Disruption.NONE, op, f"RDMA of {rdma.device}")
    return Verdict(CONNECTIONS, Phase.RDMA, now.words if now else "never set", defaults.words, step)


def _congestion(wanted: Desired, port: QosPort) -> Iterator[Verdict]:
    """Each attribute of congestion control that this port has at run time."""
    declared = [(cc_param_path(port.bdf, name), value) for name, value in wanted.cc_params]
    if wanted.ecn is not None:
        switches = ecn_attributes(port.netdev, wanted.qos.roce.priority)
        declared += [(path, int(wanted.ecn)) for path in switches]
    for path, value in declared:
        if path not in port.cc_params:
            continue
        now, step = port.cc_params[path], None
        if now != value:
            part, op = f"congestion control of {port.netdev}", SetAttribute(path, value)
            step = Step(path, f"set {path} to {value}", f"it is {now}", Disruption.NONE, op, part)
        yield Verdict(path.rpartition("/")[2], Phase.RDMA, now, value, step)


def _vlans(wanted: Desired, observed: Observed, ports: tuple[QosPort, ...]) -> Iterator[Verdict]:
    """The egress map of each declared VLAN's kernel devices on the ports and their bonds."""
    for vlan, pcp in wanted.vlans:
        found = False
        for device in observed.vlans:
            below = tuple(port.bdf for port in ports if device.lower in (port.netdev, port.bond))
            if device.id == vlan and below:
                found = True
                yield _egress_map(device, pcp, below)
        if not found:
            what = f"VLAN {vlan} has no kernel device on these ports: where Open vSwitch tags, no map applies"
            finding = Finding(Severity.INFO, "vlan-egress-map", what)
            yield Verdict(f"VLAN {vlan}", Phase.VLANS, wanted=pcp, finding=finding)


def _egress_map(device: Vlan, pcp: int, below: tuple[str, ...]) -> Verdict:
    step = None
    if set(device.egress) != {pcp}:
        what = f"have packets of {device.netdev} carry PCP {pcp}"
        why = f"its egress map is {' '.join(map(str, device.egress))}"
        key, op = f"{device.netdev}/egress", SetEgressMap(device.netdev, pcp)
        step = Step(key, what, why, Disruption.NONE, op, f"VLAN {device.netdev}")
    return Verdict(f"VLAN {device.id}", Phase.VLANS, device.egress, pcp, step, ports=below)


def _tunnels(wanted: Desired, observed: Observed) -> Iterator[Verdict]:
    """The ToS of OVN's tunnels; it is judged for all ports, since instances' traffic may leave by any."""
    now, declared = observed.encap_tos, wanted.encap_tos
    if declared is None or now is None:
        return
    step = None
    if now != declared:
        what = f"set {ENCAP_TOS} to {declared}"
        why = f"it is {now or 'unset'}, so tunnels lose the packets' DSCP"
        step = Step(ENCAP_TOS, what, why, Disruption.NONE, SetEncapTos(declared), "Open vSwitch")
    yield Verdict(ENCAP_TOS, Phase.TUNNELS, now, declared, step, ports=wanted.ports)


def ets_words(ets: dcb.Ets | None) -> str:
    """``0:50% 3:50% 6:strict``: classes that have a priority, and their shares.

    A priority that is in neither its own class nor the first is named: its packets share a class with others.
    """
    if ets is None:
        return "unknown"
    if set(ets.tsa) == {dcb.VENDOR}:
        return "the vendor's own"
    used = sorted(set(ets.prio_tc) & set(range(dcb.CLASSES)))
    shares = (f"{ets.bandwidth[tc]}%" if ets.tsa[tc] == dcb.ETS else ets.tsa[tc] for tc in used)
    words = " ".join(f"{tc}:{share}" for tc, share in zip(used, shares))
    astray = [
        f"{priority} in class {tc}" for priority, tc in enumerate(ets.prio_tc) if tc not in (0, priority)
    ]
    return f"{words}, priority {', '.join(astray)}" if astray else words


def pfc_words(priorities: tuple[int, ...] | None) -> str:
    """``3`` or ``none``; ``none`` also where the driver does not tell."""
    return " ".join(map(str, priorities or ())) or "none"


def on(value: bool) -> str:
    """``on`` or ``off``."""
    return "on" if value else "off"
