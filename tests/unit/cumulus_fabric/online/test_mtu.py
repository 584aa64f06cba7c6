# SPDX-License-Identifier: Apache-2.0
"""A port without an MTU of its own has the switches' default, whatever the links between switches have."""

from collections.abc import Callable
from typing import Any

import pytest
from audit import audit
from converge import Severity
from tree import DEFAULT_MTU
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import rack, taking_over

Edit = Callable[[dict[str, Any]], None]
MTUS = [DEFAULT_MTU, 9150, 9100, 9050, 1600]


def mtus(between: int) -> Edit:
    """This MTU between switches, and the largest one that then fits for hosts; two ports have none."""

    def change(content: dict[str, Any]) -> None:
        content["mtu"] = {"fabric": between, "host": min(9000, between - 50)}

    return change


@pytest.mark.parametrize("between", MTUS)
@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_another_mtu_between_switches_is_applied(between: int, release: str) -> None:
    wanted = fabric(change=mtus(between))
    with rack(fabric(), applied=True, release=release) as running:
        running.site = taking_over(wanted, running)
        assert running.site.apply().applied
        assert running.site.survey().plan.empty
        assert [each for each in running.site.verify() if each.severity > Severity.INFO] == [
            each for each in audit(wanted) if each.severity > Severity.WARNING
        ]


@pytest.mark.parametrize("between", MTUS)
def test_a_new_fabric_gets_it_too(between: int) -> None:
    with rack(fabric(change=mtus(between))) as new:
        assert new.site.apply().applied


@pytest.mark.parametrize("between", MTUS)
@pytest.mark.parametrize("own", [None, 1500, 9000])
def test_what_is_rendered_is_what_verify_expects(between: int, own: int | None) -> None:
    """A host's port with and without an MTU, and a bond, on a fabric that runs the intent."""

    def change(content: dict[str, Any]) -> None:
        mtus(between)(content)
        first = content["racks"][0]
        first["single-homed"]["maas"] |= {} if own is None else {"mtu": own}
        first["bonds"]["bond_ext"] |= {} if own is None else {"mtu": own}

    with rack(fabric(change=change), applied=True) as running:
        assert [each.sentence() for each in running.site.verify() if "MTU" in each.what] == []


def test_another_mtu_on_such_a_port_is_a_difference() -> None:
    with rack(fabric(change=mtus(9100)), applied=True) as running:
        member = running.wires.members["Leaf0-1"]
        member.tree["interface"]["swp23"] = {**member.tree["interface"]["swp23"], "link": {"mtu": 9100}}
        found = [each.sentence() for each in running.site.verify() if each.subject == "Leaf0-1 swp23"]
        assert found == ["Leaf0-1 swp23: MTU is 9100, the intent says 9216; run the action apply"]
