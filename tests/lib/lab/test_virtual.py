# SPDX-License-Identifier: Apache-2.0
"""Scenario openstack's virtual machines: what is checked of them, and that they are deleted in any case."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from lab.rack import virtual
from lab.rack.virtual import PORTS

NODES = ["node-0", "node-1"]
VFS = ["0000:3b:00.2", "0000:3b:01.3", "0000:3b:00.4"]
"""By Nova, on each node, in the order of the ports."""


class Compute:
    """Nova's API, whose servers have this status from the first look on."""

    def __init__(self, status: str) -> None:
        self._status, self._reports = status, itertools.count()
        self.all: dict[str, Any] = {"old": SimpleNamespace(id="old", name="vm1")}

    def create_server(self, name: str, availability_zone: str, **_: object) -> Any:
        domain = f"instance-{len(self.all)}"
        made = SimpleNamespace(id=name, name=name, status="BUILD", fault=None, instance_name=domain)
        made.host = availability_zone.removeprefix("nova:")
        self.all[name] = made
        return made

    def get_server(self, number: str) -> Any:
        self.all[number].status = self._status
        return self.all[number]

    def servers(self) -> list[Any]:
        return list(self.all.values())

    def delete_server(self, server: Any) -> None:
        del self.all[server.id]

    def get_flavor(self, number: str) -> Any:
        return SimpleNamespace(id=number, vcpus=2, ram=512)

    def services(self, binary: str) -> list[Any]:
        now = str(next(self._reports))
        return [SimpleNamespace(host=name, state="up", updated_at=now) for name in NODES]


class Placement:
    """It offers both nodes, one by one: each question finds one node more with room for a server."""

    def __init__(self, most: int = len(NODES)) -> None:
        self._offers = itertools.chain(range(most), itertools.repeat(most))

    def resource_providers(self) -> list[Any]:
        return [SimpleNamespace(id=f"id of {name}", name=name) for name in NODES]

    def get(self, path: str, microversion: str) -> Any:
        if path.startswith("/allocation_candidates?resources=PCPU:2,MEMORY_MB:512"):
            free = NODES[: next(self._offers)]
            told: Any = {"allocation_requests": [{"allocations": {f"id of {name}": {}}} for name in free]}
        else:
            told = path
        return SimpleNamespace(json=lambda: told)


class Rack:
    """Its nodes answer with vfio-pci, and its units refuse fewer VFs with these findings."""

    def __init__(self, findings: dict[str, str]) -> None:
        self.nodes, self._findings = {name: n for n, name in enumerate(NODES)}, findings
        self.deployment = SimpleNamespace(options={"nova-compute": {}})
        self.display = SimpleNamespace(phase=lambda name: None, elapsed=0.0)
        self.floor = SimpleNamespace(
            each=lambda what, work: None, work=lambda done, _: any(done() for _ in range(3))
        )
        app = SimpleNamespace(charm="sriov-switchdev", name="sriov-switchdev")
        self.units = {
            f"sriov-switchdev/{n}": SimpleNamespace(
                name=f"sriov-switchdev/{n}",
                app=app,
                machine=SimpleNamespace(name=name),
                status=("active", ""),
            )
            for name, n in self.nodes.items()
        }
        self.controller = SimpleNamespace(units=self.units, configure=self._configure, action=self._action)
        self._wanted = 8

    def option(self, name: str, default: int) -> int:
        return self._wanted

    def settle(self, patience: float) -> bool:
        return all(unit.status[0] == "active" for unit in self.units.values())

    def on(self, name: str, command: str) -> str:
        return "vfio-pci\nopen\n"

    def _configure(self, name: str, options: dict[str, int]) -> None:
        status = "active" if options["num-vfs"] == self._wanted else "blocked"
        for unit in self.units.values():
            unit.status = (status, "")

    def _action(self, names: list[str], action: str) -> list[Any]:
        return [SimpleNamespace(failure=None, results={"findings": self._findings[names[0]]})]


def person(rack: Rack, compute: Compute, placement: Placement | None = None) -> Any:
    ports = {
        f"{port}{n}": SimpleNamespace(binding_profile={"pci_slot": vf})
        for n in (1, 2)
        for port, vf in zip(PORTS, VFS)
    }
    objects = {f"port {name}": {"id": name} for name in ports}
    objects |= {"flavor m1.packet": {"id": "flavor"}, "image ubuntu-22.04": {"id": "image"}}
    return SimpleNamespace(
        rack=rack,
        nodes=NODES,
        door=lambda: SimpleNamespace(objects=objects),
        connection=SimpleNamespace(
            compute=compute,
            network=SimpleNamespace(get_port=ports.__getitem__),
            placement=placement or Placement(),
        ),
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is ten seconds later."""
    clock = itertools.count(step=10.0)
    monkeypatch.setattr(virtual, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(virtual.translate, "nova_compute", lambda options: {})
    monkeypatch.setattr(virtual.writes, "written", lambda rack, machines: dict.fromkeys(rack.units, ()))


def test_servers_that_fail_are_deleted_and_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = Compute("ERROR")
    found = virtual.virtual(person(Rack({}), compute))
    assert [(check.subject, check.holds) for check in found] == [
        ("machine1 on node-0", False),
        ("machine2 on node-1", False),
    ]
    assert compute.all == {}


def test_a_node_that_placement_does_not_offer_gets_no_server_and_is_explained() -> None:
    compute = Compute("ACTIVE")
    (check,) = virtual.virtual(person(Rack({}), compute, Placement(most=1)))
    assert (check.subject, check.holds) == ("nodes with room for a server", False)
    assert "node-1: /resource_providers/id of node-1/usages" in check.found
    assert "node-0:" not in check.found
    assert compute.all == {}


def names(domain: str) -> str:
    return "; ".join(f"VF {vf} by {domain}" for vf in VFS)


@pytest.mark.parametrize(
    ("second", "bad"),
    [(names("instance-1"), []), (names("instance-9"), ["sriov-switchdev/1 verify"])],
)
def test_the_charm_has_to_name_each_vf_and_its_server(second: str, bad: list[str]) -> None:
    rack = Rack({"sriov-switchdev/0": names("instance-0"), "sriov-switchdev/1": second})
    machines = virtual.Machines(person(rack, Compute("ACTIVE")))
    assert all(check.holds for check in machines.start())
    assert [check.subject for check in machines.kept() if not check.holds] == bad


def test_a_write_to_the_nic_while_servers_use_its_vfs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([[], ["write /sys/class/net/enp59s0f0np0/device/sriov_numvfs 0"]])
    monkeypatch.setattr(
        virtual.writes, "written", lambda rack, machines, now=told: dict.fromkeys(rack.units, next(now))
    )
    rack = Rack({f"sriov-switchdev/{n}": names(f"instance-{n}") for n in (0, 1)})
    machines = virtual.Machines(person(rack, Compute("ACTIVE")))
    machines.start()
    bad = [check.found for check in machines.kept() if not check.holds]
    assert bad == ["1, first: write /sys/class/net/enp59s0f0np0/device/sriov_numvfs 0"] * 2
