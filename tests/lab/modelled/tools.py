# SPDX-License-Identifier: Apache-2.0
"""The modelled host's commands: systemctl, mstconfig, journalctl, ping, and what OVS says."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hostnic.system import CommandError, failure

from lab.modelled.files import FakeDisk
from lab.modelled.nic import flash, mst, pcispace

if TYPE_CHECKING:
    from lab.modelled.kernel import FakeKernel

UNITS = "/etc/systemd/system"
VLANS = "/proc/net/vlan"
DATABASE = "/run/openvswitch/db.sock"


@dataclass
class FakeOvs:
    """Open vSwitch as ovn-chassis leaves it; ``flows`` is a dump of its datapath, ``limit`` their most.

    ``bridges`` has the datapath type of each bridge: `netdev` is the one of ovs-vswitchd itself.
    """

    other_config: dict[str, str] = field(default_factory=lambda: {"hw-offload": "true"})
    external_ids: dict[str, str] = field(default_factory=lambda: {"ovn-encap-ip": "172.16.0.10"})
    flows: str = ""
    limit: int = 200000
    bridges: dict[str, str] = field(default_factory=lambda: {"br-int": "system", "br-nvda": "system"})
    installed: bool = True


def run(host: "FakeKernel", argv: list[str]) -> str:
    """The answer of the command, as the real tool gives it.

    Raises CommandError if the model does not know it, or it fails.
    """
    for prefix, tool in TOOLS.items():
        if tuple(argv[: len(prefix)]) == prefix:
            return tool(host, argv)
    raise CommandError(argv, f"{argv[0]} is not installed")


def _journalctl(host: "FakeKernel", _: list[str]) -> str:
    return "".join(f"{line}\n" for line in host.log)


def _ping(host: "FakeKernel", argv: list[str]) -> str:
    if host.reachable:
        return "1 packets transmitted, 1 received, 0% packet loss\n"
    raise failure(argv, 1, "1 packets transmitted, 0 received, 100% packet loss", "")


def add_vlan(files: FakeDisk, name: str, vlan: int, lower: str) -> None:
    """``ip link add``: what /proc/net/vlan shows of a VLAN device."""
    head = "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"
    before = files.content.get(f"{VLANS}/config", head.encode())
    files.install(f"{VLANS}/config", before + f"{name:<15}| {vlan}  | {lower}\n".encode(), 0o444)
    text = (
        f"{name}  VID: {vlan}\t REORDER_HDR: 1  dev->priv_flags: 81021\n         total frames received  12\n"
        f"Device: {lower}\nINGRESS priority mappings: 0:0  1:0  2:0  3:0  4:0  5:0  6:0 7:0\n"
        " EGRESS priority mappings: \n"
    )
    files.install(f"{VLANS}/{name}", text.encode(), 0o444)


def _egress_map(host: "FakeKernel", argv: list[str]) -> str:
    """Pairs that are given replace those of the same priority, the others stay (net/8021q/vlan_dev.c)."""
    if "egress-qos-map" not in argv:
        raise CommandError(argv, f"{argv[0]} is not installed")
    files = host.disk
    name = argv[argv.index("dev") + 1]
    if f"{VLANS}/{name}" not in files.content:
        raise failure(argv, 1, "", f'Cannot find device "{name}"')
    head, mark, pairs = files.read(f"{VLANS}/{name}").partition("EGRESS priority mappings: ")
    asked = argv[argv.index("egress-qos-map") + 1 :]
    now = {key: value for key, _, value in (pair.partition(":") for pair in (*pairs.split(), *asked))}
    text = head + mark + " ".join(f"{key}:{value}" for key, value in sorted(now.items())) + " \n"
    files.install(f"{VLANS}/{name}", text.encode(), 0o444)
    return ""


def is_enabled(files: FakeDisk, unit: str) -> bool:
    """A target's link to the unit exists."""
    return any(path.startswith(f"{UNITS}/") and path.endswith(f"/{unit}") for path in files.links)


def _systemctl(host: "FakeKernel", argv: list[str]) -> str:
    if "ovn-offload-burn" in argv[-1]:
        return flash.systemctl(host, argv[1], argv[-1])
    files, verb, names = host.disk, argv[1], [name for name in argv[2:] if not name.startswith("-")]
    if verb == "daemon-reload":
        files.units = {unit: files.content.get(f"{UNITS}/{unit}", b"") for unit in files.units}
    if verb == "show":
        return _need_daemon_reload(files, names)
    for unit in names:
        text = files.content.get(f"{UNITS}/{unit}")
        if text is None:
            raise failure(argv, 1, "", f"Unit file {unit} does not exist.")
        if verb in ("start", "restart"):
            files.units.setdefault(unit, text)
            if host.start(unit):
                said = f"Job for {unit} failed because the control process exited with error code."
                raise failure(argv, 1, "", said)
        elif verb == "enable":
            _enable(files, unit, text.decode())
        elif verb == "disable":
            _disable(files, unit)
    return ""


def _enable(files: FakeDisk, unit: str, text: str) -> None:
    for line in text.splitlines():
        if line.startswith("WantedBy="):
            for target in line.partition("=")[2].split():
                files.link(f"{UNITS}/{target}.wants/{unit}", f"{UNITS}/{unit}")


def _disable(files: FakeDisk, unit: str) -> None:
    for path in [path for path in files.links if path.endswith(f".wants/{unit}")]:
        files.remove(path)


def _need_daemon_reload(files: FakeDisk, units: list[str]) -> str:
    """``systemctl show`` of the one property that is asked for."""
    now = {unit: files.content.get(f"{UNITS}/{unit}") for unit in units}
    return "\n\n".join("yes" if files.units.get(unit, now[unit]) != now[unit] else "no" for unit in units)


def _ovs_appctl(host: "FakeKernel", argv: list[str]) -> str:
    if argv[1] == "upcall/show":
        inside = sum("offloaded:yes" in flow for flow in host.ovs.flows.splitlines())
        current = f"(current {len(host.ovs.flows.splitlines())})"
        first = f"system@ovs-system:\n  flows         : {current} (avg 3) (max 4) (limit {host.ovs.limit})\n"
        return first + (f"  offloaded flows : {inside}\n" if inside else "")
    return host.ovs.flows


def _ovs_vsctl(host: "FakeKernel", argv: list[str]) -> str:
    ovs = host.ovs
    if argv[1:4] == ["set", "Open_vSwitch", "."]:
        for column, _, setting in (word.partition(":") for word in argv[4:]):
            key, _, value = setting.partition("=")
            getattr(ovs, column)[key] = value
        return ""
    if argv[1:] == ["--format=json", "list", "Bridge"]:
        return json.dumps({"headings": ["name", "datapath_type"], "data": [*ovs.bridges.items()]})
    if argv[1:] != ["--format=json", "list", "Open_vSwitch"]:
        raise failure(argv, 1, "", f"ovs-vsctl: unknown command '{argv[-1]}'")
    row = [["map", list(ovs.other_config.items())], ["map", list(ovs.external_ids.items())]]
    return json.dumps({"headings": ["other_config", "external_ids"], "data": [row]})


def database(listed: str, columns: Sequence[str]) -> str:
    """The rows that ``ovs-vsctl --format=json list`` prints, as the database server gives them."""
    table = json.loads(listed)
    found = [dict(zip(table["headings"], row, strict=True)) for row in table["data"]]
    return json.dumps([{name: row[name] for name in columns if name in row} for row in found])


def _tc_filters(host: "FakeKernel", argv: list[str]) -> str:
    """The rules at a netdev's ingress, as iproute2 prints them."""
    netdev = argv[argv.index("dev") + 1]
    if not any(link.name == netdev for link in host.links.all()):
        raise failure(argv, 1, "", f'Cannot find device "{netdev}"')
    port = host.network.uplink(netdev)
    one = "filter protocol ip pref 1 flower chain 0 handle {:#x}\n  eth_type ipv4\n  in_hw in_hw_count 1\n"
    return "".join(one.format(handle) for handle in range(1, port.rules + 1)) if port else ""


TOOLS: dict[tuple[str, ...], Callable[["FakeKernel", list[str]], str]] = {
    ("systemctl",): _systemctl,
    ("journalctl",): _journalctl,
    ("ping",): _ping,
    ("mstflint",): flash.mstflint,
    ("systemd-run",): flash.systemd_run,
    ("setpci",): pcispace.setpci,
    ("mstmcra",): pcispace.mstmcra,
    ("cp",): flash.copy,
    ("install", "-d"): flash.make_directory,
    ("sha256sum",): flash.sha256sum,
    ("sync",): flash.sync,
    ("df", "--output=avail", "--block-size=1"): flash.free,
    ("python3", "-I"): flash.download,
    ("python3", "-m", "zipfile"): flash.unzip,
    ("mstfwreset",): mst.mstfwreset,
    ("mstconfig",): mst.mstconfig,
    ("ovs-vsctl",): _ovs_vsctl,
    ("ovs-appctl",): _ovs_appctl,
    ("ip", "link", "set"): _egress_map,
    ("tc", "filter", "show"): _tc_filters,
}
"""The commands that the model knows, by how they begin."""
