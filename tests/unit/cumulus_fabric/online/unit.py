# SPDX-License-Identifier: Apache-2.0
"""The charm in front of simulated switches: ``unit`` runs its hooks and actions as Juju would."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import charm
import pytest
import yaml
from backups.folder import Folder
from intent.model import Fabric
from lab.juju.alone import Alone, context
from lab.modelled import FakeHost
from lab.nvue import Certificate
from ops import testing
from rest.client import Nvue
from rest.connection import Access
from rest.fleet import Fleet
from unit.cumulus_fabric.fabrics import data
from unit.cumulus_fabric.fabrics import fabric as spelled_out
from unit.cumulus_fabric.online.site import PASSWORD, TAKES, Rack, rack

ROOT = Path(__file__).parents[4]
METADATA = yaml.safe_load((ROOT / "charms/cumulus-fabric/charmcraft.yaml").read_text())


def managed(content: dict[str, Any]) -> None:
    """The smallest fabric with two leaves, and where its switches are managed."""
    content["spines"] |= {"count": 1, "downlinks": "swp13-14", "management": "192.0.2.1"}
    content["leaves"] |= {"uplinks": "swp31", "management": "192.0.2.11"}
    content["leaves"] |= {"segment-mac": "44:38:39:FF:00:01", "df-preference": [50000, 40000]}
    content["racks"] = [{"hosts": {"ports": "swp9-10", "names": ["node1", "node2"]}}]


def intent(change: Callable[[dict[str, Any]], object] | None = None) -> str:
    """That fabric's intent, after ``change`` has changed it."""
    content = data()
    managed(content)
    if change:
        change(content)
    return json.dumps(content)


class Unit(Alone):
    """One unit of the charm, the switches of its site, and its Juju state."""

    def __init__(
        self, rack: Rack, certificate: Certificate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        self.rack = rack
        self.access: Access | None = None
        self.host = FakeHost([], bonded=False)
        monkeypatch.setattr(charm.CumulusFabricCharm, "machine", staticmethod(lambda: self.host))
        monkeypatch.setattr(charm.CumulusFabricCharm, "connect", staticmethod(self._connect))
        self.backups = Folder(f"{mkdtemp(dir=tmp_path)}/backups")
        monkeypatch.setattr(charm.CumulusFabricCharm, "backups", self.backups)
        self.context = context(charm.CumulusFabricCharm, of_one_type())
        self.secret = testing.Secret({"user": "cumulus", "password": PASSWORD})
        self.relation = testing.Relation("fabric", remote_app_name="roce-qos")
        nothing = tmp_path / "intent.yaml"
        nothing.write_text("")
        self.state = testing.State(
            leader=True,
            resources={testing.Resource(name="intent", path=nothing)},
            secrets={self.secret},
            relations={self.relation, testing.PeerRelation("applied")},
            config={
                "intent": intent(),
                "credentials": self.secret.id,
                "ca-certificate": certificate.pem,
            },
        )

    def _connect(self, fabric: Fabric, access: Access, limit: int) -> Fleet:
        """To the simulated switches, wherever the intent has them, in their time."""
        self.access = replace(access, clock=self.rack.clock)
        clients = self.rack.site.fleet.switches
        cumulus = [each.name for each in fabric.switches if each.platform == "cumulus"]
        switches = {
            name: Nvue(name, clients[name].address, self.access, clients[name].port) for name in cumulus
        }
        return Fleet(switches, limit, self.rack.clock)

    def forget(self) -> None:
        self.rack.forget()

    def hosts(self, *reports: str) -> "Unit":
        """Publish the reports of units of roce-qos."""
        told = {number: {"host": report} for number, report in enumerate(reports)}
        self.relation = replace(self.state.get_relation(self.relation.id), remote_units_data=told or {0: {}})
        others = {each for each in self.state.relations if each.id != self.relation.id}
        self.state = replace(self.state, relations={self.relation, *others})
        return self

    def action(self, name: str, **parameters: Any) -> dict[str, Any]:
        declared = of_one_type(number=any(isinstance(value, float) for value in parameters.values()))
        self.context = context(charm.CumulusFabricCharm, declared)
        return super().action(name, **parameters)

    def roll_back(self, **parameters: Any) -> dict[str, Any]:
        """Run rollback for its plan, and again with the digest of that plan."""
        return self.action("rollback", plan=self.digest("rollback", **parameters), **parameters)

    def digest(self, name: str, **parameters: Any) -> str:
        """Of the plan that this action shows without one."""
        shown = self.action(name, **parameters)
        (digest,) = re.findall(r"with plan=(p[0-9a-f]{16}) to do this", shown["result"])
        return digest

    @property
    def writes(self) -> list[str]:
        """The writes of the last hook or action to switches."""
        return self.rack.writes()


def of_one_type(*, number: bool = False) -> dict[str, Any]:
    """Of several types that a parameter may have, ops-scenario knows only one: text, or a number."""
    declared = deepcopy(METADATA)
    for action in declared["actions"].values():
        for schema in action.get("params", {}).values():
            if isinstance(schema["type"], list):
                schema["type"] = schema["type"][schema["type"].index("number" if number else "string")]
    return declared


@contextmanager
def site(
    certificate: Certificate,
    monkeypatch: pytest.MonkeyPatch,
    *,
    applied: bool = False,
    release: str = "5.9.2",
    takes: float = TAKES,
) -> Iterator[Unit]:
    """A unit and its three switches, as they come or with the intent applied."""
    fabric = spelled_out(change=managed)
    with rack(fabric, certificate, applied=applied, release=release, takes=takes) as made:
        yield Unit(made, certificate, monkeypatch, certificate.key.parent)
