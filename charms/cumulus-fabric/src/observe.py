# SPDX-License-Identifier: Apache-2.0
"""Reads what the switches run and what they see; writes nothing."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from converge import Finding, Severity
from rest.client import Nvue
from rest.connection import SwitchError
from rest.fleet import Fleet
from tree import OF_IP, Tree, get_path, nodes
from tree.record import UNKNOWN, Box
from tree.routing.others import has_vrfs
from tree.seen import by_port

OLDEST, NEWEST = (5, 5), (5, 99)
"""Releases of Cumulus Linux whose tree is known: 5.5 is the first one that shows Ethernet segments."""

INTERFACES = (
    "type",
    "link/mtu",
    "link/speed",
    "link/state",
    "link/oper-status",
    "link/mac",
    "link/mac-address",
    "lldp/neighbor",
    "bond/member",
)
"""The parts of each interface that are read: unfiltered reads have crashed nvued on large switches."""


ROCE_COUNTERS = "qos/roce/counters"
"""The part of an interface that a look reads, too; it is left out where an apply waits and looks again."""

VRFS = ("/*/evpn", "/*/router/bgp/neighbor")
"""The parts of each VRF that are read, where there is any but the switches' own."""


PLATFORM = (5, 9)
"""From this release on ``platform`` has the device's numbers; up to 5.8 ``platform hardware`` has them, and
``platform`` every package (NVUE command reference, ``nv show platform``)."""

UNTOLD = ("", "n/a", "none")
"""The texts that stand for a number that a device lacks; a virtual one has its MAC as its serial number."""


_RELEASE = re.compile(r"\b([0-9]{1,4})\.([0-9]{1,4})(?![0-9])(?:\.[0-9]{1,4})?(?![0-9])")


def version_of(release: str) -> tuple[int, int]:
    """The first two numbers of a release of Cumulus Linux."""
    major, minor = release.split(".")[:2]
    return int(major), int(minor)


@dataclass(frozen=True)
class SwitchState:
    """One switch."""

    name: str
    release: str  # of Cumulus Linux: `5.9.2`
    applied: Tree  # the running configuration, without defaults, with ranges expanded
    # The operational state, as `nv show` has it; empty if only the configuration was read
    state: Tree = field(default_factory=dict[str, Any])
    # `primary` or `secondary` where MLAG is configured; empty without it, or if the switch does not tell
    mlag_role: str = ""
    hostname: str = ""  # what it calls itself
    box: Box = UNKNOWN  # the device that it is

    @property
    def version(self) -> tuple[int, int]:
        """The first two numbers of the release."""
        return version_of(self.release)


@dataclass(frozen=True)
class Observed:
    """The switches that answered, and why the others did not."""

    switches: Mapping[str, SwitchState] = field(default_factory=dict[str, SwitchState])
    errors: Mapping[str, SwitchError] = field(default_factory=dict[str, SwitchError])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One for each switch that could not be read."""
        return failures(self.errors)


def failures(
    errors: Mapping[str, SwitchError], remedy: str = "check that it is reachable"
) -> tuple[Finding, ...]:
    """A finding for each switch with an error, with ``remedy`` where the error has none."""
    return tuple(
        Finding(Severity.BLOCKED, name, error.reason, error.remedy or remedy)
        for name, error in errors.items()
    )


def observe(
    fleet: Fleet, names: Iterable[str], state: bool = True, known: Mapping[str, SwitchState] | None = None
) -> Observed:
    """Read these switches; with ``state`` also their links, neighbours and sessions.

    The release and the configuration of switches that are ``known`` are not read again.
    """

    def look(switch: Nvue) -> SwitchState:
        before = (known or {}).get(switch.name)
        with switch.looked_at():
            system = {} if before else switch.get("/system")
            release = before.release if before else release_of(switch, system)
            applied = before.applied if before else switch.applied()
            hostname = before.hostname if before else _name(system, applied)
            box = before.box if before else box_of(switch, release)
            # `local-role` of `nv show mlag` (as of 5.4.0).
            role = switch.get("/mlag").get("local-role") if applied.get("mlag") else ""
            seen = _state(switch, applied, counted=before is None) if state else {}
            return SwitchState(switch.name, release, applied, seen, str(role or ""), hostname, box)

    return Observed(*fleet.each(names, look))


def _name(system: Tree, applied: Tree) -> str:
    """Return a switch's own name: the one that it has now, or else the one that it is configured to have."""
    told = (system.get("hostname"), get_path(applied, ("system", "hostname")))
    return next((name for name in told if isinstance(name, str)), "")


def box_of(switch: Nvue, release: str) -> Box:
    """The device that a switch is; an empty one where this release does not tell."""
    try:
        told = switch.get("/platform" if version_of(release) >= PLATFORM else "/platform/hardware")
    except SwitchError as error:
        if error.kind != "refused":
            raise
        told = {}
    numbers = (str(told.get(key) or "").strip() for key in ("serial-number", "system-mac"))
    serial, mac = ("" if each.lower() in UNTOLD else each for each in numbers)
    return Box(serial, mac.lower())


def release_of(switch: Nvue, system: Tree | None = None) -> str:
    """The release of Cumulus Linux; ``system`` is the answer for ``/system``, if it was asked before.

    Raises SwitchError of kind ``release`` if this charm does not support the release.
    """
    system = switch.get("/system") if system is None else system
    # 5.14 moved it from system.build to system.version.
    version: object = system.get("version") or ("build" not in system and switch.get("/system/version"))
    for text in (system.get("build"), *_told(version)):
        if found := _RELEASE.search(str(text or "")):
            if not OLDEST <= (int(found[1]), int(found[2])) <= NEWEST:
                raise _unsupported(f"Cumulus Linux {found[0]} is not supported")
            return found[0]
    raise _unsupported("it does not report its release of Cumulus Linux")


def _told(version: object) -> Iterator[object]:
    """The places where ``system.version`` may have the release, the most reliable one first.

    It also has the versions of other things: ONIE, the kernel, Debian (``nv show system version`` in the
    Cumulus Linux user guide). ``image`` is text, or an object with ``build-id``.
    """
    if not isinstance(version, dict):
        yield version
        return
    parts = cast("Tree", version)
    image: object = parts.get("image")
    yield parts.get("build")
    yield parts.get("product-release")
    yield cast("Tree", image).get("build-id") if isinstance(image, dict) else image


def _unsupported(said: str) -> SwitchError:
    return SwitchError("release", said, "install Cumulus Linux 5.5 or a later 5.x")


def _state(switch: Nvue, applied: Tree, *, counted: bool) -> Tree:
    """The operational state of a switch that runs ``applied``: one filtered read for each part.

    ``counted``: with what its ports counted. Sessions are named by their ports, also of numbered links.
    """
    parts = (*INTERFACES, *_of_gateways(applied), *([ROCE_COUNTERS] if counted else []))
    interfaces = switch.get("/interface", include=[f"/*/{part}" for part in parts])
    return {
        "interface": interfaces,
        "neighbor": by_port(applied, switch.get("/vrf/default/router/bgp/neighbor")),
        "esi": switch.get("/evpn/multihoming/esi"),
        "vni": switch.get("/evpn/vni"),
        "port": switch.get("/bridge/domain/br_default/port"),
        "roce": switch.get("/qos/roce"),
        "vrf": switch.get("/vrf", include=VRFS) if has_vrfs(applied) else {},
    }


def _of_gateways(applied: Tree) -> Iterator[str]:
    """The parts of interfaces to read where some have gateways: addresses, as the release calls them."""
    svis = [node for _, node in nodes(applied, "interface") if node.get("type") == "svi"]
    for key in OF_IP:
        if any(key in node for node in svis):
            yield from (f"{key}/address", f"{key}/vrr")
