# SPDX-License-Identifier: Apache-2.0
"""One unit of a host charm on a modelled host: its hooks, actions and boots, and what each of them wrote."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import ops
import pytest
import yaml
from converge.render import PLAN_WIDTH
from exporter import facts
from lab.juju.alone import Alone, context
from lab.modelled import FakeHost
from ops import testing
from wakeups import wakes_in

Unit = TypeVar("Unit", bound="HostUnit")

CHARMS = Path(__file__).parents[2] / "charms"
ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "br-nvda\t00000000\t0119A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "br-nvda\t0019A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)
"""/proc/net/route of a node whose default route is over the bond's bridge."""
TO_DATABASE = (
    "Iface Destination Gateway Flags RefCnt Use Metric Mask\n{} 000A000A 00000000 0001 0 0 0 00FFFFFF\n"
)
"""The same of a node with a port in 10.0.10.0/24."""


def metadata(name: str) -> dict[str, Any]:
    """A charm's charmcraft.yaml."""
    return yaml.safe_load((CHARMS / name / "charmcraft.yaml").read_text())


def _check_plan(text: str, style: str) -> None:
    """Each plan of each test fits a terminal, and no reason repeats its step."""
    if style == "table":
        assert max(map(len, text.splitlines())) <= PLAN_WIDTH, text
        return
    plan = json.loads(text)
    for step in (*plan["steps"], *plan["held"]):
        assert step["what"] not in (step["why"], step.get("reason", "")), step


class HostUnit(Alone):
    """A unit, its host and its Juju state; ``writes`` has what the last hook or action wrote."""

    def __init__(
        self,
        host: FakeHost,
        kind: type[ops.CharmBase],
        declared: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.host = host
        self.reboots_asked = 0
        self._charm = declared["name"]
        monkeypatch.setattr(ops.Unit, "reboot", self._count_reboot)
        monkeypatch.setattr(kind, "machine", staticmethod(lambda: self.host))
        self.context = context(kind, declared)
        principal = testing.SubordinateRelation("juju-info", remote_app_name="nova-compute")
        self.state = testing.State(relations={principal})
        self.writes: list[str] = []

    def _count_reboot(self, now: bool = False) -> None:
        self.reboots_asked += 1

    def relate_to_peers(self) -> None:
        """Lead an application whose units agree on reboots."""
        self.peer = testing.PeerRelation("reboot")
        self.state = replace(self.state, leader=True, relations={*self.state.relations, self.peer})

    def deployed_as(self: Unit, application: str) -> Unit:
        """Give the application another name than its charm's."""
        self.context.app_name = application
        return self

    def forget(self) -> None:
        self.host.trace.clear()
        self.host.spawned.clear()

    def emit(self, event: str = "config_changed", *arguments: Any, **named: Any) -> ops.StatusBase:
        status = super().emit(event, *arguments, **named)
        # What the exporter is told follows the findings, as the status does (test_exporter.py).
        self.writes = [line for line in self.host.trace if facts.DIRECTORY not in line]
        return status

    def action(self, name: str, **parameters: Any) -> dict[str, Any]:
        results = super().action(name, **parameters)
        self.writes = list(self.host.trace)
        if name == "plan":
            _check_plan(results["plan"], parameters.get("format", "table"))
        return results

    def said(self, action: str, **parameters: Any) -> str:
        """Run an action that may fail; its results, or the one sentence that says why not."""
        try:
            return "\n".join(map(str, self.action(action, **parameters).values()))
        except testing.ActionFailed as failed:
            return failed.message

    def findings(self) -> str:
        """Return the findings that ``verify`` prints."""
        return self.action("verify")["findings"]

    @property
    def wakes_in_a_minute(self) -> bool:
        """Whether the last hook asked systemd for the next one in a minute."""
        return wakes_in(self.host, self._charm) == 60

    def installed(self: Unit) -> Unit:
        """After the first hook alone, which has not looked at the host."""
        self.emit("install")
        return self

    def set_up(self) -> ops.StatusBase:
        """Juju's hooks of a new unit, up to the first one that looks at the host."""
        self.emit("install")
        if self.state.leader:
            self.emit("leader_elected")
        return self.emit("config_changed")

    def deploy(self, **options: Any) -> ops.StatusBase:
        """Juju's hooks of a new unit."""
        self.configure(**options)
        self.set_up()
        return self.emit("start")

    def boot(self) -> ops.StatusBase:
        """Reboot the host, whose writes ``boot_writes`` has, and run the hook that Juju runs then."""
        self.host.trace.clear()
        self.host.reboot()
        self.boot_writes = list(self.host.trace)
        return self.emit("start")

    def flows_wait_for_database(self, dev: str, **ids: str) -> None:
        """Have OVN keep flow-restore-wait on a host that reaches the Southbound database by ``dev``.

        ``ids`` are more external IDs of Open vSwitch, which has br-nvda.
        """
        self.host.ovs.other_config = {"hw-offload": "true", "flow-restore-wait": "true"}
        self.host.ovs.external_ids = {
            "ovn-encap-ip": "172.16.0.10",
            "ovn-managed-flow-restore-wait": "true",
            "ovn-remote": "ssl:10.0.10.31:6642,ssl:10.0.10.32:6642",
            **ids,
        }
        self.host.disk.install("/proc/net/route", TO_DATABASE.format(dev).encode(), 0o644)
