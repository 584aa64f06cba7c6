# SPDX-License-Identifier: Apache-2.0
"""A host charm on the modelled host of a site, from its deployment through a reboot to a quiet hook.

host.yaml says which cards the host has, how each charm is configured, and what is foreign there.
"""

import json
from collections.abc import Callable
from typing import Any

from hostnic.system import failure
from lab.modelled import FakeCard, FakeHost, Firmware, at_two_slots, card, hca
from lab.modelled.network import FakeBond
from sites.gallery import FOLDER, Found, Seen, Site
from unit.hostunit import HostUnit

KINDS: dict[str, Callable[..., FakeCard]] = {"ethernet": card, "infiniband": hca, "two-slots": at_two_slots}
REFERENCE = Site("reference", FOLDER / "reference").data("host")["charms"]
"""The options of a charm for which host.yaml has none."""


def cards(site: Site) -> list[FakeCard]:
    """The host's NICs, in their order; the first one is the pair in bond0."""
    given = [dict(each) for each in site.data("host").get("cards", [{}])]
    lacking = [each.pop("lacks", ()) for each in given]
    made = [KINDS[each.pop("kind", "ethernet")](**each) for each in given]
    for nic, names in zip(made, lacking, strict=True):
        nic.lacks.update(names)
    return made


def prepare(site: Site, host: FakeHost) -> None:
    """Put everything on the host that it has besides its cards."""
    data = site.data("host")
    for path, text in data.get("files", {}).items():
        host.disk.install(path, text.encode(), 0o600)
    for path, target in data.get("links", {}).items():
        host.disk.link(path, target)
    for name, members in data.get("bonds", {}).items():
        beside = name in data.get("no-bridge", ())
        host.network.bonds[name] = FakeBond(
            name, members=sorted(members), bridge=None if beside else "ovs-system"
        )
    for netdev, addresses in data.get("addresses", {}).items():
        host.network.addresses[netdev] = list(addresses)
    for netdev, count in data.get("vfs", {}).items():
        port = host.port(netdev)
        port.firmware = Firmware(max(port.total_vfs, count), next_num_of_vfs=max(port.total_vfs, count))
        port.total_vfs = port.firmware.offered
        host.files.write(f"/sys/bus/pci/devices/{port.bdf}/sriov_numvfs", str(count))
    for command, answer in data.get("answers", {}).items():
        host.answers[tuple(command.split())] = answer
    for fault in data.get("faults", ()):
        host.fail(fault["verb"], fault["about"], _error(fault), fault.get("times", 1))
    _start_processes(host, data.get("processes", {}))
    for bdf in data.get("instances", ()):
        host.sleep(5.0)
        host.start_instance(bdf)


def _error(fault: dict[str, Any]) -> OSError:
    """Of a command, which ended with ``exit``, or of a call of the system, with ``errno``."""
    if "exit" in fault:
        return failure(fault["about"].split(), fault["exit"], fault["says"], "")
    return OSError(fault["errno"], fault["says"])


def _start_processes(host: FakeHost, processes: dict[str, str]) -> None:
    """Start the processes that have RDMA devices open, by the PCI addresses of ports and VFs."""
    for number, (bdf, command) in enumerate(processes.items(), 4711):
        for nic in host.cards:
            nic.rdma = True
        host.open_rdma(bdf, number, command)


def see(site: Site, charm: str, node: HostUnit) -> Seen:
    """Deploy, plan, reboot unless that waits for an approval, verify; then a hook that writes nothing.

    What the site calls foreign has to be as it was, before the reboot and after it. A host that ``crashes``
    boots without an approval.
    """
    data = site.data("host")
    foreign = data.get("foreign", [])
    before = _states(node.host, data, foreign)
    vfs = _vfs(node.host, foreign)
    options = data["charms"].get(charm) or REFERENCE[charm]
    planned = json.loads(_deployed(node, options).action("plan", format="json")["plan"])
    writes = [*node.first_writes]
    assert (_states(node.host, data, foreign), _vfs(node.host, foreign)) == (before, vfs), (
        "changed before a reboot"
    )
    if options.get("reboot-policy") != "manual" or data.get("crashes"):
        node.boot()
        writes += [*node.boot_writes, *node.writes]
    found = json.loads(node.action("verify", format="json")["findings"])
    node.emit("update_status")
    again = [line for line in node.writes if "-dispatch-later" not in line]
    assert again == [], "a second run wrote"
    assert _states(node.host, data, foreign) == before, "what is foreign was changed by the reboot"
    names = [name for netdev in foreign for name in (netdev, node.host.port(netdev).bdf)]
    harmed = [line for line in writes if any(name in line.split() or f"/{name}/" in line for name in names)]
    assert harmed == [], "writes name what is foreign"
    blocked = [each for each in planned["findings"] if each["severity"] in ("blocked", "warning")]
    return Seen(_found([*blocked, *found]), list(dict.fromkeys(writes)))


def _deployed(node: Any, options: dict[str, Any]) -> Any:
    """The unit after its first hooks, with all that they wrote."""
    node.set(options)
    node.first_writes = []
    for event in ("install", "leader_elected", "config_changed", "start"):
        node.emit(event)
        node.first_writes += node.writes
    return node


def _found(findings: list[dict[str, str]]) -> list[Found]:
    return [
        Found(each["severity"], each["subject"], f"{each['what']}; {each['remedy']}") for each in findings
    ]


def _states(host: FakeHost, data: dict[str, Any], foreign: list[str]) -> dict[str, Any]:
    """Return the parts of foreign ports that a charm could change for good, and of the site's files."""
    found: dict[str, Any] = {path: host.files.read(path) for path in data.get("files", {})}
    for netdev in foreign:
        port = host.port(netdev)
        nic = next(each for each in host.cards if port in each.ports)
        settings = {name: (each.current, each.next_boot) for name, each in nic.settings.items()}
        found[netdev] = repr((port.firmware, port.eswitch_mode, port.total_vfs, settings, port.link))
    return found


def _vfs(host: FakeHost, foreign: list[str]) -> dict[str, int]:
    return {netdev: len(host.port(netdev).vfs) for netdev in foreign}
