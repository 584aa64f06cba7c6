# SPDX-License-Identifier: Apache-2.0
"""The former settings of another maker's port, so that it gets them back when `auto` releases it.

The record is below /run: no setting of a port outlives the boot, and neither does what was there before. The
ports of a ConnectX are not in it, since `auto` never releases them.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from converge import Disruption, Step
from desired import Desired
from hostnic.devices import vlan
from hostnic.devices.port import MLX5
from hostnic.devices.rdma import MODES, Defaults
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App, Dcb, Ets
from hostnic.ops.dcb import SetApps, SetEts, SetPause, SetPfc, TakeDcbx
from hostnic.ops.files import write_own
from hostnic.ops.lldp import SetLldp
from hostnic.ops.marking import SetEgressMap, SetRoceDefaults
from hostnic.system import UNREADABLE, HostStep, System, read_own
from observed import Observed, QosPort

from nic.judge import Judged, Phase, Verdict, bridging, cost

PATH = "/run/ovn-offload/roce-qos/before.json"
UNSET = Ets((0,) * dcb.CLASSES, (dcb.STRICT,) * dcb.CLASSES, (0,) * dcb.CLASSES)
"""One class for all traffic, as drivers report it that were never told otherwise."""
UNMAPPED = (0,) * vlan.SOCKET_PRIORITIES

KERNELS = Defaults(MODES["v2"], 0)
"""Where nobody has set them (drivers/infiniband/core/cma.c: cma_add_one, CMA_PREFERRED_ROCE_GID_TYPE)."""


class Before(NamedTuple):
    """Settings of a port that the charm changes."""

    ets: Ets = UNSET
    pfc: tuple[int, ...] = ()
    apps: tuple[App, ...] = ()
    pause: bool = False  # global pause frames were on, in either direction
    dcbx: int | None = None  # DCBX mode; None without DCBX, and where it is not known
    defaults: Defaults = KERNELS  # of new RDMA connections
    egress: Mapping[str, tuple[int, ...]] = {}  # PCP by socket priority of VLAN devices above it, by name


def read(system: System) -> dict[str, Before]:
    """Read the records by PCI address; none where the record is missing or cannot be read."""
    try:
        return _decoded(read_own(system, PATH))
    except UNREADABLE:
        return {}


def keep(system: System, ports: Iterable[QosPort], observed: Observed, ours: Desired | None = None) -> None:
    """Record what ports have that the charm is about to set for the first time in this boot.

    Where the charm may have set them in this boot already, as a revision without this record did, what is as
    in ``ours`` was not there before.
    """
    known = read(system)
    new = {
        port.bdf: _without(ours, _now(port, observed), port)
        for port in ports
        if port.dcb and port.driver.name != MLX5 and port.bdf not in known
    }
    _write(system, known, known | new)


def _now(port: QosPort, observed: Observed) -> Before:
    found = port.dcb or Dcb()
    return Before(
        found.ets or UNSET,
        found.pfc.priorities if found.pfc else (),
        found.apps,
        port.pause is not None and (port.pause.rx or port.pause.tx),
        found.dcbx,
        port.defaults or KERNELS,
        {each.netdev: each.egress for each in observed.vlans if each.lower in (port.netdev, port.bond)},
    )


def _without(ours: Desired | None, found: Before, port: QosPort) -> Before:
    """Return the former settings, with the driver's and the kernel's own values instead of the charm's."""
    if ours is None:
        return found
    pcps = {(pcp,) * vlan.SOCKET_PRIORITIES for _, pcp in ours.vlans}
    return found._replace(
        ets=UNSET if found.ets == ours.ets else found.ets,
        pfc=() if found.pfc == ours.qos.pfc else found.pfc,
        apps=tuple(app for app in found.apps if app not in ours.apps(port.driver)),
        dcbx=None if found.dcbx == port.driver.dcbx_ask else found.dcbx,
        defaults=KERNELS if found.defaults == ours.defaults else found.defaults,
        egress={name: pcp for name, pcp in found.egress.items() if pcp not in pcps},
    )


def release(system: System, released: Mapping[str, Before], returned: Iterable[Judged]) -> None:
    """Keep released ports in the record until they have everything back, and not longer."""
    if not released:
        return
    known, waiting = read(system), {judged.port.bdf for judged in returned if judged.verdicts}
    gone = {bdf for bdf in released if bdf not in waiting}
    kept = {bdf: each for bdf, each in {**released, **known}.items() if bdf not in gone}
    _write(system, known, kept)


def give_back(wanted: Desired, released: Mapping[str, Before], observed: Observed) -> tuple[Judged, ...]:
    """Released ports, and what they do not have back; what something else has set since then stays."""
    marks = _marks(wanted, released, observed)
    found: list[Judged] = []
    for port in observed.among(released):
        steps = _undone(wanted, released[port.bdf], port)
        own = (Verdict("before", Phase.BRIDGING, step=step) for step in steps)
        back = (Verdict("before", Phase.BACK, step=step) for step in marks.get(port.bdf, ()))
        found.append(Judged(port, (*own, *back)))
    return tuple(found)


def _undone(wanted: Desired, before: Before, port: QosPort) -> Iterator[HostStep]:
    found, netdev, why = port.dcb, port.netdev, "auto has released the port"
    if found is None:
        return
    ours = set(wanted.apps(port.driver))
    if found.pfc and found.pfc.priorities == wanted.qos.pfc != before.pfc:
        what = f"give {netdev} its own lossless priorities back"
        yield bridging(port, "pfc", what, why, SetPfc(netdev, before.pfc), Disruption.LINK_FLAP)
    apps = (set(found.apps) - ours) | set(before.apps)
    if ours & set(found.apps) and apps != set(found.apps):
        selectors = tuple(sorted({app.selector for app in ours}))
        trusts = not any(app.selector == dcb.DSCP for app in apps)
        what = f"give {netdev} its own map to priorities back"
        op = SetApps(netdev, selectors, tuple(sorted(apps)))
        yield bridging(port, "apps", what, why, op, cost(port, dcb.ENTRIES, trusts=trusts))
    if found.ets == wanted.ets != before.ets:
        what, op = f"give {netdev} its own traffic classes and shares back", SetEts(netdev, before.ets)
        yield bridging(port, "ets", what, why, op, cost(port, dcb.SHARES))
    if before.pause and wanted.qos.pfc and port.pause and not (port.pause.rx or port.pause.tx):
        what, op = f"turn global pause frames of {netdev} on again", SetPause(netdev, on=True)
        yield bridging(port, "pause", what, why, op, cost(port, dcb.PAUSE))
    if _had_other_dcbx(before, port):
        what, mode = f"give {netdev} its own DCBX mode back", before.dcbx or 0
        yield bridging(port, "dcbx", what, why, TakeDcbx(netdev, mode, mode), cost(port, dcb.MODE))
    if port.drop_in and port.drop_in.there:
        what = f"stop networkd from using LLDP on {netdev}"
        yield bridging(port, "lldp", what, why, SetLldp(port.drop_in.path, False))


def _had_other_dcbx(before: Before, port: QosPort) -> bool:
    """Whether the charm has changed the DCBX mode from another one of the host's; drivers take no others."""
    had, now = before.dcbx or 0, port.dcb.dcbx if port.dcb else None
    taken = now == port.driver.dcbx_ask and not port.driver.may_set(Dcb(dcbx=had))
    return taken and bool(had & dcb.HOST)


def _marks(wanted: Desired, released: Mapping[str, Before], observed: Observed) -> dict[str, list[HostStep]]:
    """The same for what RDMA devices and VLAN devices have, as far as no port that is kept uses them too.

    By PCI address of the first port that uses one.
    The ToS of OVN's tunnels stays: it is the host's, and the option for it goes on.
    """
    kept, why = observed.among(wanted.ports), "auto has released the port"
    done = {port.rdma.device for port in kept if port.rdma}
    lowers = {name for port in kept for name in (port.netdev, port.bond)}
    found: dict[str, list[HostStep]] = {}
    for port in observed.among(released):
        before, rdma, steps = released[port.bdf], port.rdma, found.setdefault(port.bdf, [])
        if rdma and rdma.device not in done and port.defaults == wanted.defaults != before.defaults:
            what = f"give new connections of {rdma.device} their own {before.defaults.words} back"
            key, op = f"{port.bdf}/defaults", SetRoceDefaults(rdma, before.defaults)
            steps.append(Step(key, what, why, Disruption.NONE, op, f"RDMA of {rdma.device}"))
            done.add(rdma.device)
        for device in observed.vlans:
            pcp, was = dict(wanted.vlans).get(device.id), before.egress.get(device.netdev, UNMAPPED)
            above = device.lower in (port.netdev, port.bond) and device.lower not in lowers
            mapped = set(device.egress) == {pcp} and device.egress != was
            if above and mapped and device.netdev not in done:
                what = f"give {device.netdev} its own egress map back"
                key, op = f"{port.bdf}/egress {device.netdev}", SetEgressMap(device.netdev, was)
                steps.append(Step(key, what, why, Disruption.NONE, op, f"VLAN {device.netdev}"))
                done.add(device.netdev)
    return found


def _decoded(text: str) -> dict[str, Before]:
    raw = cast("dict[str, Any]", json.loads(text))
    return {bdf: _of_port(each) for bdf, each in raw.items()}


def _of_port(raw: dict[str, Any]) -> Before:
    shares = Ets(*(tuple(each) for each in raw["ets"]))
    apps = tuple(App(*map(int, each)) for each in raw["apps"])
    mode, tos = raw.get("defaults", KERNELS)
    return Before(
        shares,
        tuple(map(int, raw["pfc"])),
        apps,
        bool(raw["pause"]),
        None if raw.get("dcbx") is None else int(raw["dcbx"]),
        Defaults(str(mode), int(tos)),
        {str(name): tuple(map(int, pcps)) for name, pcps in raw.get("egress", {}).items()},
    )


def _write(system: System, known: Mapping[str, Before], wanted: Mapping[str, Before]) -> None:
    if known == wanted:
        return
    content = {bdf: each._asdict() for bdf, each in wanted.items()}
    with contextlib.suppress(OSError):  # as with what hooks have set: without it, less is given back
        write_own(system, PATH, json.dumps(content) + "\n", _decoded)
