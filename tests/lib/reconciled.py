# SPDX-License-Identifier: Apache-2.0
"""A charm whose verbs write down that they ran."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ops
import pytest
from charmkit.options import check, option
from charmkit.output import Output
from charmkit.reconcile import InputError, Reconciler, Removed, Verbs, load_config, load_params
from converge import Disruption, Finding, Plan, Step
from converge.shape import InvalidValue
from ops import testing

META = {
    "name": "nic",
    "subordinate": True,
    "requires": {
        "juju-info": {"interface": "juju-info", "scope": "container"},
        "fabric": {"interface": "host_fabric"},
    },
    "peers": {"reboot": {"interface": "rolling_reboot"}},
}
FORMAT = {"type": "string", "enum": ["table", "json"]}
ACTIONS = {
    "plan": {"params": {"format": FORMAT}},
    "verify": {"params": {"format": FORMAT}},
    "burn": {"params": {"image": {"type": "string"}}},
}
OPTIONS = {
    "num-vfs": {"type": "int", "default": 8},
    "vf-lag": {"type": "string", "default": "auto"},
    "site": {"type": "string"},
}


@dataclass(frozen=True)
class Config:
    site: str
    num_vfs: int = option(8, minimum=1, maximum=127)
    vf_lag: str = option("auto", choices=("auto", "required"))

    def __post_init__(self) -> None:
        check(self)
        if self.site == "mars":
            raise ValueError("no site is on mars")


@dataclass(frozen=True)
class Image:
    image: str

    def __post_init__(self) -> None:
        if not self.image.endswith(".bin"):
            raise InvalidValue("image", self.image, "the name of a .bin file")


class Noop:
    def run(self, system: object) -> None:
        raise AssertionError("a preview writes nothing")


PLAN: Plan[Any] = Plan((Step("vfs", "create 8 VFs", "there are none", Disruption.VF_DESTROYING, Noop()),))


class Charm(ops.CharmBase, Verbs[Output]):
    """A charm whose verbs write down that they ran."""

    whole = "see elsewhere"
    calls: list[str]
    findings: Sequence[Finding] = ()
    unreadable: OSError | None = None

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.reconciler = Reconciler(self, self)
        framework.observe(self.on.burn_action, self.burn)

    def converge(self) -> Sequence[Finding]:
        config = load_config(self, Config)
        self.calls.append(f"converge {config.num_vfs}")
        return self.findings

    def preview(self, given: object) -> Plan[Any]:
        load_config(self, Config)
        self.calls.append("preview")
        return PLAN

    def verify(self) -> Sequence[Finding]:
        self.calls.append("verify")
        if self.unreadable:
            raise self.unreadable
        return self.findings

    def stop(self) -> Removed:
        self.calls.append("stop")
        return Removed("removed; what it set stays")

    def burn(self, event: ops.ActionEvent) -> None:
        try:
            self.calls.append(f"burn {load_params(event, Image).image}")
        except InputError as error:
            event.fail(str(error))


@pytest.fixture
def charm() -> type[Charm]:
    return type("Charm", (Charm,), {"calls": [], "findings": ()})


@pytest.fixture
def context(charm: type[Charm]) -> testing.Context[Charm]:
    return testing.Context(charm, meta=META, actions=ACTIONS, config={"options": OPTIONS}, unit_id=3)


def state(**config: Any) -> testing.State:
    return testing.State(
        config={"site": "earth", **config},
        relations=[
            testing.PeerRelation("reboot", peers_data={1: {}}),
            testing.Relation("fabric"),
            testing.SubordinateRelation("juju-info"),
        ],
        unit_status=testing.UnknownStatus(),
    )
