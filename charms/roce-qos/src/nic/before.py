# SPDX-License-Identifier: Apache-2.0
"""What a port of another maker had before the charm set it, so that it gets it back when `auto` releases it.

The record is below /run: no setting of a port outlives the boot, and neither does what was there before. The
ports of a ConnectX are not in it, since `auto` never releases them.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from converge import Disruption, Plan, Step
from desired import Desired
from hostnic.devices.port import MLX5
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App, Ets
from hostnic.ops.dcb import SetApps, SetEts, SetPause, SetPfc
from hostnic.ops.lldp import SetLldp
from hostnic.system import HostStep, System, read_own
from observed import Observed, QosPort

from nic.steps import cost, in_turn

PATH = "/run/ovn-offload/roce-qos/before.json"
UNSET = Ets((0,) * dcb.CLASSES, (dcb.STRICT,) * dcb.CLASSES, (0,) * dcb.CLASSES)
"""One class for all traffic, as drivers report it that were never told otherwise."""


class Before(NamedTuple):
    """Settings of a port that the charm changes."""

    ets: Ets = UNSET
    pfc: tuple[int, ...] = ()
    apps: tuple[App, ...] = ()
    pause: bool = False  # global pause frames were on, in either direction


def read(system: System) -> dict[str, Before]:
    """By PCI address; nothing where the record is missing or cannot be read."""
    try:
        raw = cast("dict[str, Any]", json.loads(read_own(system, PATH)))
        return {bdf: _decoded(each) for bdf, each in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def keep(system: System, ports: Iterable[QosPort]) -> None:
    """Record what ports have that the charm is about to set for the first time in this boot."""
    known = read(system)
    new = {
        port.bdf: Before(
            port.dcb.ets or UNSET,
            port.dcb.pfc.priorities if port.dcb.pfc else (),
            port.dcb.apps,
            port.pause is not None and (port.pause.rx or port.pause.tx),
        )
        for port in ports
        if port.dcb and port.driver.name != MLX5 and port.bdf not in known
    }
    _write(system, known, known | new)


def release(system: System, released: Mapping[str, Before], planned: Plan[System]) -> None:
    """Keep released ports in the record until they have everything back, and not longer."""
    if not released:
        return
    left = (*planned.steps, *(item.step for item in planned.held))
    known, waiting = read(system), {step.key.partition("/")[0] for step in left}
    gone = {bdf for bdf in released if bdf not in waiting}
    kept = {bdf: each for bdf, each in {**released, **known}.items() if bdf not in gone}
    _write(system, known, kept)


def give_back(wanted: Desired, before: Before, observed: Observed, port: QosPort) -> list[HostStep]:
    """The steps that undo what the charm has set; what something else has set since then stays."""
    undone = _undone(wanted, before, port)
    return [replace(in_turn(step, observed, port), part=port.port.nic) for step in undone]


def _undone(wanted: Desired, before: Before, port: QosPort) -> Iterator[HostStep]:
    found, netdev, why = port.dcb, port.netdev, "auto has released the port"
    if found is None:
        return
    ours = set(wanted.apps(port.driver))
    if found.pfc and found.pfc.priorities == wanted.qos.pfc != before.pfc:
        what = f"give {netdev} its own lossless priorities back"
        yield Step(f"{port.bdf}/pfc", what, why, Disruption.LINK_FLAP, SetPfc(netdev, before.pfc))
    apps = (set(found.apps) - ours) | set(before.apps)
    if ours & set(found.apps) and apps != set(found.apps):
        selectors = tuple(sorted({app.selector for app in ours}))
        trusts = not any(app.selector == dcb.DSCP for app in apps)
        what, op = (
            f"give {netdev} its own map to priorities back",
            SetApps(netdev, selectors, tuple(sorted(apps))),
        )
        yield Step(f"{port.bdf}/apps", what, why, cost(port, dcb.ENTRIES, trusts=trusts), op)
    if found.ets == wanted.ets != before.ets:
        what, op = f"give {netdev} its own traffic classes and shares back", SetEts(netdev, before.ets)
        yield Step(f"{port.bdf}/ets", what, why, cost(port, dcb.SHARES), op)
    if before.pause and wanted.qos.pfc and port.pause and not (port.pause.rx or port.pause.tx):
        what, op = f"turn global pause frames of {netdev} on again", SetPause(netdev, on=True)
        yield Step(f"{port.bdf}/pause", what, why, cost(port, dcb.PAUSE), op)
    if port.drop_in and port.lldp:
        what, op = f"stop networkd from using LLDP on {netdev}", SetLldp(port.drop_in, False)
        yield Step(f"{port.bdf}/lldp", what, why, Disruption.NONE, op)


def _decoded(raw: dict[str, Any]) -> Before:
    shares = Ets(*(tuple(each) for each in raw["ets"]))
    apps = tuple(App(*map(int, each)) for each in raw["apps"])
    return Before(shares, tuple(map(int, raw["pfc"])), apps, bool(raw["pause"]))


def _write(system: System, known: Mapping[str, Before], wanted: Mapping[str, Before]) -> None:
    if known == wanted:
        return
    content = {bdf: each._asdict() for bdf, each in wanted.items()}
    with contextlib.suppress(OSError):  # as with what hooks have set: without it, less is given back
        system.files.install(PATH, (json.dumps(content) + "\n").encode(), 0o600)
