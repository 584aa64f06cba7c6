# SPDX-License-Identifier: Apache-2.0
"""A whole application on modelled hosts, driven by Juju's events."""

import json
from typing import Any

import ops
import pytest
from charmkit.containers import LXC
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.output import Output
from charmkit.reboot.databag import KEY, decode_cluster
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.rolling import RollingReboot
from charmkit.reboot.state import Need
from charmkit.reconcile import Reconciler, Verbs
from converge import Finding, Plan
from exporter.facts import Reboot
from hostnic.handover import Handover
from lab.juju.model import Model, number_of
from lab.juju.service import told
from lab.modelled import FakeHost
from ops import testing
from wakeups import wakes_in

META = {"name": "sriov", "peers": {"reboot": {"interface": "rolling_reboot"}}}
ACTIONS: dict[str, Any] = {name: {} for name in ("plan", "verify", "cancel-reboots")} | {
    name: {"params": {"unit": {"type": "string"}}} for name in ("approve-reboot", "release-reboot-lock")
}
CONFIG: Any = {"options": {"reboot-parallel": {"type": "string"}}}

WHY = "8 VFs at the next boot"
OSD = "/var/lib/ceph/osd/ceph-0"
"""On each host: it carries a member of a cluster, and settles for `reboot-settle` seconds after a boot."""


class Node:
    """A host, what its charm finds there, and what the unit's databag holds."""

    def __init__(self, databags: dict[str, dict[str, str]], unit: str) -> None:
        self._databags, self._unit = databags, unit
        self.host = FakeHost()
        self.host.disk.install(OSD, b"", 0o600)
        self.others: tuple[Handover, ...] = ()
        self.owner = "sriov"
        self.needs: tuple[str, ...] = ()
        self.unverified = ""
        self.looks = 0
        self.zone = ""
        self.reboots = 0
        self.down = False
        self.kept: frozenset[testing.StoredState] = frozenset()
        self.told = Reboot()

    @property
    def data(self) -> dict[str, str]:
        return self._databags[self._unit]

    def carries_nothing(self) -> None:
        """No member of a cluster is on the host: it settles as soon as it verifies."""
        self.host.disk.remove(OSD)

    def has_stopped(self, *containers: str) -> None:
        """LXD has these containers, and none of them runs."""
        self.host.disk.install(LXC, b"", 0o755)
        config = {"boot.autostart": "true"}
        found = [{"name": name, "status": "Stopped", "config": config} for name in containers]
        self.host.answers[(LXC, "query", "/1.0/instances?recursion=1")] = json.dumps(found)

    @property
    def wakes_in(self) -> int | None:
        """In how many seconds systemd wakes the unit, as its last hook asked; None if it did not ask."""
        return wakes_in(self.host, "sriov")

    def boot(self, *, changes_nothing: bool = False) -> None:
        self.host.reboot()
        if not changes_nothing:
            self.needs = ()


class Application(Model):
    """Units of one application on a Juju that carries databags and keeps reboots for the test to make."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, units: int, policy: RebootOptions) -> None:
        super().__init__()
        self.peers = self.relate({"sriov": "reboot"})
        bags = self.databags[self.peers.id]
        self.nodes = [Node(bags, f"sriov/{number}") for number in range(units)]
        for number, node in enumerate(self.nodes):
            bags[f"sriov/{number}"] = self.addresses(number)
            node.host.reboots = 1000 * number  # each host has its own boot ids
        self.policy = policy
        self.option = ""  # `reboot-parallel`, where the charm refuses it
        self.refused: Finding | None = None  # about an option that each charm refuses
        self.leader = 0
        self.related = True
        self.results: dict[str, Any] = {}
        self.logs: list[str] = []
        self._asking = False
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(ops.Unit, "reboot", lambda *_: self._ask())

    def _ask(self) -> None:
        self._asking = True

    @property
    def leader(self) -> int:
        return number_of(self.leaders["sriov"])

    @leader.setter
    def leader(self, number: int) -> None:
        self.leaders["sriov"] = f"sriov/{number}"

    @property
    def app_data(self) -> dict[str, str]:
        return self.databags[self.peers.id]["sriov"]

    @app_data.setter
    def app_data(self, data: dict[str, str]) -> None:
        self.write(self.peers, "sriov", data)

    def hook(self, number: int, *, app_data: dict[str, str] | None = None) -> testing.State:
        """One hook; ``app_data`` is what it sees of the leader, if it began before the latest change."""
        latest = self.app_data
        self.app_data = latest if app_data is None else app_data
        out = self._emit(number, lambda on, _: on.update_status())
        if app_data is not None:
            self.app_data = latest
        return out

    def hooks(self, *numbers: int) -> testing.State:
        """A hook of each of these units, one after the other; what the last one leaves."""
        return [self.hook(number) for number in numbers][-1]

    def need(self, *numbers: int) -> None:
        """These hosts need a reboot, each since its next hook."""
        for number in numbers:
            self.nodes[number].needs = (WHY,)
            self.hook(number)

    @property
    def reboots(self) -> list[int]:
        """How often Juju was asked to reboot each host."""
        return [node.reboots for node in self.nodes]

    def changed(self, number: int, of: int | None = None) -> testing.State:
        """The hook of a change in the peer relation: of a unit's databag, or of the application's."""
        if of is not None:
            return self._emit(number, lambda on, peers: on.relation_changed(peers, remote_unit=of))
        with told(JUJU_REMOTE_UNIT=""):
            return self._emit(number, lambda on, peers: on.relation_changed(peers))

    def action(self, number: int, name: str, **params: str) -> dict[str, Any]:
        before = self.nodes[number].reboots
        self._emit(number, lambda on, _: on.action(name, params=params))
        assert self.nodes[number].reboots == before, "juju-reboot is refused in an action"
        return self.results

    def _emit(self, number: int, event: Any) -> testing.State:
        node, application = self.nodes[number], self

        class Charm(ops.CharmBase, Verbs[Output]):
            def __init__(self, framework: ops.Framework) -> None:
                super().__init__(framework)
                self.rolling = RollingReboot(self, node.host, Dispatcher(node.host, self.unit.name, "sriov"))
                self.dispatcher = Dispatcher(node.host, self.unit.name, "sriov")
                self.reconciler = Reconciler(self, self)
                self.reconciler.follow("reboot", self.rolling.follow)

            def preview(self, given: Output) -> Plan[Any]:
                return Plan()

            def verify(self) -> tuple[Finding, ...]:
                return ()

            def converge(self) -> tuple[Finding, ...]:
                node.looks += 1
                self.dispatcher.install()
                if application.refused:
                    return self.rolling.options_refused(application.refused)
                need = Need(node.needs, unverified=node.unverified)
                given = Handover("sriov", self.unit.name, node.owner)
                found = self.rolling.reconcile(need, application.policy, given, node.others)
                node.told = self.rolling.told
                return found

        unit = f"sriov/{number}"
        peers = testing.PeerRelation(**self.told(self.peers, unit), local_unit_data=node.data)
        context = testing.Context(Charm, meta=META, config=CONFIG, actions=ACTIONS, unit_id=number)
        node.host.spawned.clear()
        node.host.contacted.clear()
        node.host.silent_hosts = {self.address(n) for n, other in enumerate(self.nodes) if other.down}
        state = testing.State(
            leader=self.leads(unit),
            relations=[peers] if self.related else [],
            stored_states=node.kept,
            config={"reboot-parallel": self.option or self.policy.reboot_parallel},
        )
        self._monkeypatch.setenv("JUJU_AVAILABILITY_ZONE", node.zone)
        out = context.run(event(context.on, peers), state)
        node.kept = frozenset(out.stored_states)
        if self.related:
            after = out.get_relation(peers.id)
            self.write(self.peers, unit, after.local_unit_data)
            self.write(self.peers, "sriov", after.local_app_data)
        self.results, self.logs = dict(context.action_results or {}), list(context.action_logs)
        if self._asking:
            node.reboots += 1
            self._asking = False
        return out

    @staticmethod
    def address(number: int) -> str:
        """Where Juju says that a unit's host is."""
        return f"192.168.25.{10 + number}"

    def addresses(self, number: int) -> dict[str, str]:
        """Return the keys that Juju writes into a unit's databag, for its peers."""
        address = self.address(number)
        return {"egress-subnets": f"{address}/32", "ingress-address": address, "private-address": address}

    def everybody_reports(self) -> None:
        """A need that came and went everywhere: each unit published it with the leader's boot id."""
        policy, self.policy = self.policy, RebootOptions("manual")
        for needs in (("a need that goes",), ()):
            for number in (self.leader, *range(len(self.nodes))):
                self.nodes[number].needs = needs
                self.hook(number)
        self.policy = policy

    @property
    def holder(self) -> str:
        return decode_cluster(self.app_data.get(KEY)).holder


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Any:
    def deploy(
        units: int = 3, mode: Any = "manual", settle: int = 300, *, reported: bool = True
    ) -> Application:
        application = Application(monkeypatch, units=units, policy=RebootOptions(mode, settle))
        for number in range(units):
            application.hook(number)
        if reported and units > 1:
            application.everybody_reports()
        return application

    return deploy
