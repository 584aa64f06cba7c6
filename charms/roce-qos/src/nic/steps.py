# SPDX-License-Identifier: Apache-2.0
"""The steps for one port: only those whose settings differ. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from converge import Disruption, Op, Step
from desired import Desired
from hostnic.netlink import dcb
from hostnic.netlink.dcb import dcbx_words
from hostnic.ops.dcb import SetApps, SetEts, SetPause, SetPfc, TakeDcbx
from hostnic.ops.lldp import SetLldp, StopLldpad
from hostnic.ops.marking import SetAttribute, SetRoceDefaults
from hostnic.ops.members import AwaitMember, InTurn
from hostnic.system import HostStep, Pause, System
from observed import Observed, QosPort, cc_param_path, ecn_attributes

SETTLE = 2.0
"""Seconds within which a bond notices that a member's link is down, by the driver's event or by polling."""


def stop_lldpad(observed: Observed) -> list[HostStep]:
    """Take over from lldpad; without ``dcbx-takeover`` preflight has blocked the plan before."""
    if not observed.lldpad:
        return []
    why = "it sets data centre bridging, too"
    return [_step("lldpad", "stop lldpad, and keep it from starting", why, StopLldpad())]


def bridging(wanted: Desired, observed: Observed, port: QosPort) -> list[HostStep]:
    """Data centre bridging of the port, in the order in which a driver needs it.

    The control over it, shares, the map of DSCPs, pause frames, lossless priorities. A change that takes the
    link down with this driver is one of disruption LINK_FLAP, and refused while no other port of the bond
    carries traffic.
    """
    needed = (*_owner(port), *_classes(wanted, port), *_pfc(wanted, port))
    return [replace(in_turn(step, observed, port), part=port.port.nic) for step in needed]


def in_turn(step: HostStep, observed: Observed, port: QosPort) -> HostStep:
    """The step, which is refused while it would take down the last port of the bond that carries traffic."""
    if step.disruption < Disruption.LINK_FLAP:
        return step
    others = tuple(other.netdev for other in observed.others(port))
    return replace(step, op=InTurn(step.op, port.netdev, port.bond, others))


def link_back(port: QosPort) -> list[HostStep]:
    """The wait after the port's link was down, if it carries traffic now."""
    if not (port.distributing if port.bond else port.carrier):
        return []
    what = f"wait until {port.netdev} carries traffic in {port.bond}"
    what = what if port.bond else f"wait until {port.netdev} has its link back"
    why = "its link has flapped, and the next port relies on it"
    back = AwaitMember(port.netdev, port.bond, settle=SETTLE)
    return [replace(_step(f"{port.bdf}/member", what, why, back), part=port.port.nic)]


def _owner(port: QosPort) -> list[HostStep]:
    """Take over data centre bridging from the firmware."""
    if port.dcb is None or port.driver.may_set(port.dcb):
        return []
    agent = port.driver.agent.format(port.netdev)
    op = TakeDcbx(port.netdev, port.driver.dcbx_ask, port.driver.dcbx, agent)
    what, why = f"take over DCBX of {port.netdev}", f"its mode is {dcbx_words(port.dcb.dcbx or 0)}"
    return [_step(f"{port.bdf}/dcbx", what, why, op, cost(port, dcb.MODE))]


def _classes(wanted: Desired, port: QosPort) -> list[HostStep]:
    steps: list[HostStep] = []
    found, netdev = port.dcb, port.netdev
    if found is None:
        return []
    if found.ets != wanted.ets:
        what = f"set traffic classes and shares of {netdev}"
        why = f"they are {ets_words(found.ets)}"
        steps.append(_step(f"{port.bdf}/ets", what, why, SetEts(netdev, wanted.ets), cost(port, dcb.SHARES)))
    apps = apps_op(wanted, port)
    missing = set(apps.apps) ^ apps.ours(found.apps)
    if missing:
        what = f"map {packets(port.driver)} of {netdev} to priorities"
        why = f"trust is {port.trust}, {len(missing)} entries differ"
        trusts = any(app.selector == dcb.DSCP for app in apps.apps) != bool(port.dscp_map)
        steps.append(_step(f"{port.bdf}/apps", what, why, apps, cost(port, dcb.ENTRIES, trusts=trusts)))
    if wanted.qos.pfc and port.pause not in (None, Pause(rx=False, tx=False)):
        what = f"turn global pause frames of {netdev} off"
        op = SetPause(netdev, on=False)
        steps.append(_step(f"{port.bdf}/pause", what, "they exclude PFC", op, cost(port, dcb.PAUSE)))
    return steps


def cost(port: QosPort, setting: str, *, trusts: bool = False) -> Disruption:
    """What the change costs with the port's driver; ``trusts``: the port trusts another marking after it."""
    flaps = setting in port.driver.flaps or (trusts and port.port.device in port.driver.flaps_with_trust)
    return Disruption.LINK_FLAP if flaps else Disruption.NONE


def lldp(wanted: Desired, port: QosPort) -> list[HostStep]:
    """LLDP through networkd."""
    if port.drop_in is None or port.lldp == wanted.lldp:
        return []
    what = f"have networkd send and receive LLDP on {port.netdev}"
    if not wanted.lldp:
        what = f"stop networkd from using LLDP on {port.netdev}"
    why = "the fabric's wiring is checked with it" if wanted.lldp else "option lldp is off"
    step = _step(port.drop_in, what, why, SetLldp(port.drop_in, wanted.lldp))
    return [replace(step, part=f"LLDP of {port.netdev}")]


def _pfc(wanted: Desired, port: QosPort) -> list[HostStep]:
    now = port.dcb.pfc if port.dcb else None
    cable = wanted.cable if port.cable else 0
    if port.dcb is None or (now and now.priorities == wanted.qos.pfc and cable in (0, now.delay)):
        return []
    op = SetPfc(port.netdev, wanted.qos.pfc, cable)
    if now and now.priorities == wanted.qos.pfc:
        what, why = f"set the cable length of {port.netdev} to {cable} m", f"it is {now.delay} m"
        return [_step(f"{port.bdf}/pfc", what, why, op)]
    what = f"set lossless priorities of {port.netdev} to {pfc_words(wanted.qos.pfc)}"
    why = f"they are {pfc_words(now.priorities if now else ())}"
    return [_step(f"{port.bdf}/pfc", what, why, op, Disruption.LINK_FLAP)]


def connections(wanted: Desired, port: QosPort) -> list[HostStep]:
    """Defaults of RDMA connections, and what congestion control can be set at run time."""
    steps: list[HostStep] = []
    defaults = wanted.defaults
    if port.rdma and not port.no_defaults and port.defaults != defaults:
        what = f"set {defaults.mode} and ToS {defaults.tos} for new connections of {port.rdma.device}"
        why = f"ToS is {port.defaults.words}" if port.defaults else "they were never set"
        key = f"{port.rdma.device}/{port.rdma.number}/defaults"
        step = _step(key, what, why, SetRoceDefaults(port.rdma, defaults))
        steps.append(replace(step, part=f"RDMA of {port.rdma.device}"))
    for path, value in cc_params(wanted, port):
        now = port.cc_params[path]
        if now != value:
            step = _step(path, f"set {path} to {value}", f"it is {now}", SetAttribute(path, value))
            steps.append(replace(step, part=f"congestion control of {port.netdev}"))
    return steps


def cc_params(wanted: Desired, port: QosPort) -> Iterator[tuple[str, int]]:
    """Path and value of each congestion control attribute that this port has."""
    for name, value in wanted.cc_params:
        if (path := cc_param_path(port.bdf, name)) in port.cc_params:
            yield path, value
    if wanted.ecn is not None:
        for path in ecn_attributes(port.netdev, wanted.qos.roce.priority):
            if path in port.cc_params:
                yield path, int(wanted.ecn)


def apps_op(wanted: Desired, port: QosPort) -> SetApps:
    """The change that brings the port's APP entries to the desired state."""
    owned = (dcb.DSCP,) if port.driver.dscp else ()
    return SetApps(port.netdev, owned, wanted.apps(port.driver))


def packets(driver: dcb.Driver) -> str:
    """What the driver maps to priorities, in words."""
    words = ["DSCPs"] * driver.dscp + ["RoCE's ethertype and UDP port"] * driver.ports
    return " and ".join(words)


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


def pfc_words(priorities: tuple[int, ...]) -> str:
    """``3`` or ``none``."""
    return " ".join(map(str, priorities)) or "none"


def _step(
    key: str, what: str, why: str, op: Op[System], disruption: Disruption = Disruption.NONE
) -> HostStep:
    return Step(key, what, why, disruption, op)
