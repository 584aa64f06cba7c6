# SPDX-License-Identifier: Apache-2.0
"""The VLANs of Neutron's provider networks, as one range in the intent."""

from collections.abc import Callable
from typing import Any

import hosts
import pytest
from audit import audit
from converge import Severity
from converge.shape import InvalidValue
from intent.model import Dialect
from lab.nvue.published import published
from output import formats, picture, tables
from output.told import Told
from tree import render
from unit.cumulus_fabric.fabrics import data, fabric


def with_vlans(given: Any, change: Callable[[dict[str, Any]], object] = lambda _: None) -> Any:
    def changed(content: dict[str, Any]) -> None:
        content["provider-vlans"] = given
        change(content)

    return fabric(change=changed)


def leaf(given: Any, dialect: Dialect = Dialect.UNTIL_5_14) -> dict[str, Any]:
    made = with_vlans(given)
    return render.tree(made, made.switch("Leaf0-1"), dialect)


RANGE = {"vlans": "1001-1003", "vni-base": 100000}


@pytest.mark.parametrize("dialect", Dialect)
def test_they_are_vlans_with_vnis_and_hosts_carry_them(dialect: Dialect) -> None:
    tree, before = leaf(RANGE, dialect), render.tree(fabric(), fabric().switch("Leaf0-1"), dialect)
    vlans = tree["bridge"]["domain"]["br_default"]["vlan"]
    new = {vlan: below for vlan, below in vlans.items() if vlan not in ("9", "10", "40", "101", "3000")}
    assert new == {
        "1001": {"vni": {"101001": {}}},
        "1002": {"vni": {"101002": {}}},
        "1003": {"vni": {"101003": {}}},
    }
    for bond in ("bond1", "bond2"):
        carried = tree["interface"][bond]["bridge"]["domain"]["br_default"]["vlan"]
        assert set(carried) == {"9", "10", "40", "101", "3000", "1001", "1002", "1003"}
    # What lists its networks, or is no host of a rack, is as it was.
    for port in ("bond_ext", "swp23", "swp24", "swp31"):
        assert tree["interface"][port] == before["interface"][port]


@pytest.mark.parametrize("minor", [5, 14, 15, 18])
def test_every_release_has_them(minor: int) -> None:
    assert published(minor).refuse(leaf(RANGE, Dialect.of_release(f"5.{minor}.0"))) == []


def test_the_commands_fold_them() -> None:
    made = with_vlans(RANGE)
    text = formats.write(made, made.switch("Leaf0-1"), Dialect.UNTIL_5_14, "nv")
    assert "nv set interface bond1-2 bridge domain br_default vlan 9-10,40,101,1001-1003,3000\n" in text
    assert "nv set bridge domain br_default vlan 1001 vni 101001\n" in text


@pytest.mark.parametrize(("given", "vnis"), [("1001-1002,1200", (1001, 1002, 1200)), (1001, (1001,))])
def test_the_short_form_has_the_vlans_number_as_vni(given: Any, vnis: tuple[int, ...]) -> None:
    assert tuple(n.vni for n in with_vlans(given).networks if n.provider) == vnis


def listed(content: dict[str, Any]) -> None:
    content["racks"][0]["single-homed"]["juju"]["networks"] = ["oam", "provider-vlans"]


def test_a_port_that_lists_them_carries_them() -> None:
    made = with_vlans(RANGE, listed)
    (port,) = [port for port in made.switch("Leaf0-1").single_homed if port.name == "swp23"]
    assert [network.vlan for network in port.networks] == [1001, 1002, 1003, 3000]


WRONG = {
    "backwards": ("1100-1001", "provider-vlans: '1100-1001' is not allowed; expected a range that counts up"),
    "beyond the last": ("4000-4095", "provider-vlans: '4000-4095' is not allowed; expected VLANs from 1"),
    "no VLAN": (0, "provider-vlans: 0 is not allowed; expected a VLAN from 1 to 4094"),
    "no range": ("tenant", "provider-vlans: 'tenant' is not allowed; expected VLANs such as 1001-1100,1200"),
    "a base without VLANs": ({"vni-base": 1}, "provider-vlans.vlans: an empty value is not allowed"),
    "an unknown key": ({"vlans": "10", "vni": 1}, "provider-vlans.vni"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_value_is_named(given: Any, said: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        with_vlans(given)
    assert str(refused.value).startswith(said)


def test_they_cannot_be_listed_where_there_are_none() -> None:
    with pytest.raises(InvalidValue, match="'provider-vlans' is not allowed; expected one of the"):
        fabric(change=listed)


def test_a_vlan_that_a_network_has_as_well_is_found_once() -> None:
    found = [f for f in audit(with_vlans("100-120")) if f.severity is Severity.BLOCKED]
    assert [(f.subject, f.what) for f in found] == [
        ("provider-vlans", "network provider-vlans:101 and network provider both have VLAN 101"),
        ("provider-vlans", "network provider-vlans:101 and network provider both have VNI 101"),
    ]


def only_public(content: dict[str, Any]) -> None:
    for rack in content["racks"]:
        rack["hosts"] = {"ports": "swp9-10", "networks": ["public"]}


def test_a_range_that_no_port_carries_is_found() -> None:
    found = [f.what for f in audit(with_vlans(RANGE, only_public)) if f.subject == "provider-vlans"]
    assert found == ["no port carries the provider VLANs: each of them lists its networks"]


def test_hosts_are_not_told_of_them_and_pictures_show_the_range() -> None:
    made = with_vlans(RANGE)
    assert hosts.policy(made).vlans == hosts.policy(fabric()).vlans
    assert "provider-vlans  1001-1003  101001-101003" in tables.as_text(Told(made))
    assert "provider-vlans 1001-1003" in picture.as_svg(Told(made))
    assert "provider-vlans" not in str(data())
