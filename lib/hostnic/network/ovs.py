# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch through its own tools, read only: ovn-chassis sets its options."""

import errno
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

from hostnic.devices.lag import DEBUGFS
from hostnic.system import System, if_told, read_text

FLOWS = re.compile(r"\bflows\s*: \(current (\d{1,18})\).*\(limit (\d{1,18})\)")
OFFLOADED = re.compile(r"\boffloaded flows\s*: (\d{1,18})")
CLEARS = "/usr/local/sbin/clear-ovn-flow-restore-wait"
"""By this, ovn-chassis has each start of ovn-controller clear what :attr:`Settings.waits_for` tells of (charm
ovn-dedicated-chassis, README.md, "Flow restore wait"; Launchpad bug 2169426)."""
MICROOVN = "/var/snap/microovn/common/run/switch"
"""The run-time directory of MicroOVN's Open vSwitch (OVS_RUNDIR in snapcraft/ovn.env of canonical/microovn),
which its service `switch` makes when it starts."""
REMOTE = re.compile(r"(?:ssl|tcp):\[?([0-9A-Fa-f.:]{2,45}?)\]?:\d{1,5}\b")
"""The address of each database in `external_ids:ovn-remote`."""
PATIENCE = 1.0
"""Seconds in which a hook has the daemons of Open vSwitch answer."""
Row: TypeAlias = "dict[str, Any]"
"""Columns of one OVSDB row: maps as dict, sets as list, uuids as text (RFC 7047, section 5.1)."""


@dataclass(frozen=True)
class Settings:
    """``Open_vSwitch`` and ``Bridge`` tables: what decides whether flows may go to the NIC."""

    hw_offload: bool  # `other_config:hw-offload` is true
    tc_policy: str = "none"  # `other_config:tc-policy`: none, skip_sw or skip_hw
    # This chassis' tunnel endpoint, from `external_ids:ovn-encap-ip`; OVN 24.03 takes several, by commas
    encap_ip: str | None = None
    encap_tos: str | None = None  # what its tunnels' outer header gets, from `external_ids:ovn-encap-tos`
    dpdk: bool = False  # `other_config:dpdk-init` is set: ports of DPDK forward on CPUs
    userspace: tuple[str, ...] = ()  # bridges that ovs-vswitchd forwards for itself (datapath_type netdev)
    # Addresses of the Southbound database if Open vSwitch forwards nothing after its next start until
    # ovn-controller has reached one: OVN 24.03.8 keeps `other_config:flow-restore-wait` on HA chassis
    waits_for: tuple[str, ...] = ()

    @property
    def endpoints(self) -> frozenset[str]:
        """The addresses of the tunnel endpoint."""
        return frozenset(filter(None, (each.strip() for each in (self.encap_ip or "").split(","))))

    @property
    def no_flow(self) -> tuple[str, str]:
        """Why no flow at all goes to the NIC, and the remedy; empty if flows may (vswitchd/vswitch.xml)."""
        if self.dpdk or self.userspace:
            what = f"datapath_type of {', '.join(self.userspace)} is netdev" if self.userspace else ""
            what = what or "other_config:dpdk-init is set"
            return f"{what}: CPUs forward, not the kernel and the NIC", f"{CHASSIS} enable-dpdk=false"
        if not self.hw_offload:
            what = "other_config:hw-offload is not true (ovn-chassis option enable-hardware-offload)"
            return what, f"{CHASSIS} enable-hardware-offload=true"
        if self.tc_policy == "skip_hw":
            remedy = f"run: {REMOVE} tc-policy; then restart Open vSwitch and ovn-controller"
            return "other_config:tc-policy is skip_hw", remedy
        return "", ""


CHASSIS = "run: juju config ovn-chassis"
REMOVE = "ovs-vsctl remove Open_vSwitch . other_config"


def rows(answer: str) -> list[Row]:
    """The rows of :meth:`hostnic.system.System.database`. Raises OSError if it is no such answer."""
    try:
        return [{key: _value(cell) for key, cell in row.items()} for row in json.loads(answer)]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise OSError(errno.EPROTO, "Open vSwitch's database gave something that is not its JSON") from None


def _value(cell: object) -> object:
    if not isinstance(cell, list):
        return cell
    kind, content = cast("tuple[str, Any]", cell)
    if kind == "map":
        return {_value(key): _value(value) for key, value in content}
    if kind == "set":
        return [_value(item) for item in content]
    return content


def _texts(column: object) -> dict[str, str]:
    """A map's text values; empty if the column is anything else."""
    pairs = cast("dict[object, object]", column).items() if isinstance(column, dict) else ()
    return {key: value for key, value in pairs if isinstance(key, str) and isinstance(value, str)}


def settings(system: System, patience: float = 5.0) -> Settings:
    """The offload settings. Raises OSError if the database does not answer in ``patience`` seconds.

    FileNotFoundError means that Open vSwitch is not installed or does not run.
    """
    try:
        found = rows(system.database("Open_vSwitch", ("other_config", "external_ids"), patience))
        bridges = rows(system.database("Bridge", ("name", "datapath_type"), patience))
    except FileNotFoundError:
        reason = "Open vSwitch is not installed, or its database server does not run"
        raise FileNotFoundError(errno.ENOENT, reason) from None
    row: Row = found[0] if found else {}
    config, ids = _texts(row.get("other_config")), _texts(row.get("external_ids"))
    # Without OVN's own note of it, `ovs-ctl restart` has set it, for moments.
    waits = config.get("flow-restore-wait") == ids.get("ovn-managed-flow-restore-wait") == "true"
    return Settings(
        hw_offload=config.get("hw-offload", "false").lower() == "true",
        tc_policy=config.get("tc-policy", "none"),
        encap_ip=ids.get("ovn-encap-ip"),
        encap_tos=ids.get("ovn-encap-tos"),
        dpdk=config.get("dpdk-init", "false").lower() in ("true", "try"),
        userspace=tuple(
            sorted(str(each.get("name")) for each in bridges if each.get("datapath_type") == "netdev")
        ),
        waits_for=tuple(REMOTE.findall(ids.get("ovn-remote", ""))) if waits else (),
    )


def dump_flows(system: System) -> str:
    """Datapath flows as text, in the NIC and beside it."""
    return system.query(["ovs-appctl", "dpctl/dump-flows", "-m", "type=all"])


class Counts(NamedTuple):
    """How many of the datapath's flows are in the NIC, how many are not, and how many OVS keeps at most."""

    inside: int
    others: int
    limit: int


def counts(system: System) -> Counts | None:
    """How many flows there are, by OVS' own count: no flow is listed. None when it does not tell.

    OVS names offloaded flows only if there are any, and counts them among the current ones.
    """
    said = if_told(lambda: system.control("upcall/show", PATIENCE)) or ""
    if not (found := FLOWS.search(said)):
        return None
    inside = int(offloaded[1]) if (offloaded := OFFLOADED.search(said)) else 0
    return Counts(inside, max(int(found[1]) - inside, 0), int(found[2]))


def connections(system: System, bdfs: Iterable[str]) -> int | None:
    """Tracked connections in NICs by these ports' counts (en/tc_ct.c: mlx5_ct_tc_create_dbgfs).

    None where no driver tells: before 5.19, or debugfs cannot be read.
    """
    told = [read_text(system, f"{DEBUGFS}/{bdf}/ct/offloaded") for bdf in bdfs]
    known = [int(text) for text in told if text and text.isdecimal()]
    return sum(known) if known else None
