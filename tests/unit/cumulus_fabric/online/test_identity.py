# SPDX-License-Identifier: Apache-2.0
"""A switch is who it says it is, not who should answer at its address: a mistake is seen before any write."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from audit.foreign import Ownership
from lab.nvue.factory import factory
from lab.nvue.trees import merge
from maintenance import Maintenance
from online import Site
from tree.record import Box
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, runs
from unit.cumulus_fabric.online.site import Rack, rack, taking_over

NOTHING = "nothing was sent to any switch"


def changed(content: dict[str, Any]) -> None:
    """Every leaf has something to change."""
    content["networks"]["tenant"] = {"vlan": 77}
    content["leaves"]["management"] = "192.0.2.11"


def exchange(made: Rack, one: str, other: str) -> Site:
    """Each of two switches answers at the address of the other one."""
    made.servers[one], made.servers[other] = made.servers[other], made.servers[one]
    return Site(fabric(change=changed), made.site.fleet)


@pytest.fixture(params=["5.9.2", "5.15.0"])
def running(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(fabric(), applied=True, release=request.param) as made:
        yield made


def call(made: Rack, **names: str) -> None:
    """Give switches these host names."""
    for name, hostname in names.items():
        name = name.replace("_", "-")
        runs(made, merge(made.applied[name], {"system": {"hostname": hostname}}), name)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Leaf0-1", "Leaf0-2"), ("Leaf0-1", "Leaf1-2"), ("Spine0", "Spine1"), ("Spine1", "Leaf0-1")],
    ids=["in a rack", "between racks", "spines", "a spine and a leaf"],
)
def test_exchanged_addresses_change_nothing(running: Rack, one: str, other: str) -> None:
    site = exchange(running, one, other)
    before = running.applied
    report = site.apply()
    assert report.verdict == NOTHING
    assert [each.subject for each in report.reasons] == sorted((one, other), key=site.names.index)
    assert (
        f"calls itself {other}" in report.reasons[0].what or f"calls itself {one}" in report.reasons[0].what
    )
    assert (running.writes(), running.applied) == ([], before)


def test_the_finding_names_the_address_and_both_remedies(running: Rack) -> None:
    first, *_ = exchange(running, "Leaf0-1", "Leaf0-2").apply().reasons
    assert first.sentence() == (
        "Leaf0-1: the switch at 192.0.2.11 calls itself Leaf0-2; correct the management addresses of Leaf0-1 "
        "and Leaf0-2; if it is Leaf0-1, run nv set system hostname Leaf0-1 and nv config apply on it"
    )


@pytest.mark.parametrize("name", ["LEAF0-2", "leaf0-2.example.net", "Leaf0-2.dc1.example.net"])
def test_case_and_domain_hide_no_name(running: Rack, name: str) -> None:
    call(running, Leaf0_1=name)
    (found,) = taking_over(fabric(change=changed), running).apply().reasons
    assert "calls itself Leaf0-2" in found.what
    assert running.writes() == []


@pytest.mark.parametrize(
    "name", ["Leaf0-1", "leaf0-1", "LEAF0-1.example.net", "cumulus", "cumulus.example.net", "sw-17", ""]
)
def test_a_name_that_is_no_other_switch_s_is_taken(running: Rack, name: str) -> None:
    """The factory's name, a name of the site's own, or none."""
    if name:
        call(running, Leaf0_1=name)
    else:
        tree = running.applied["Leaf0-1"]
        del tree["system"]["hostname"]
        runs(running, tree, "Leaf0-1")
    assert taking_over(fabric(change=changed), running).apply().applied


def test_switches_without_a_name_are_told_by_their_numbers(running: Rack) -> None:
    call(running, **{name.replace("-", "_"): "cumulus" for name in running.applied})
    first, second = exchange(running, "Leaf0-1", "Leaf0-2").apply().reasons
    assert first.what == ("the switch at 192.0.2.11 has the AS 65102 and the loopback 10.10.10.2 of Leaf0-2")
    assert first.remedy == (
        "correct the management addresses of Leaf0-1 and Leaf0-2; if it is Leaf0-1, give it its name: "
        "nv set system hostname Leaf0-1, nv config apply"
    )
    assert (second.subject, running.writes()) == ("Leaf0-2", [])


def test_one_of_two_that_tells_nothing_is_not_taken_for_the_other(running: Rack) -> None:
    """The blank one may be a new switch; the other one says who it is."""
    call(running, Leaf0_2="cumulus")
    (found,) = exchange(running, "Leaf1-1", "Leaf0-1").survey(["Leaf0-1"]).plan.findings
    assert (found.subject, "calls itself Leaf1-1" in found.what) == ("Leaf0-1", True)


def test_a_switch_in_the_place_of_a_dead_one_gets_its_configuration() -> None:
    with rack(fabric(), applied=True) as running, rack(fabric()) as new:
        running.servers["Leaf0-2"].switch = new.servers["Leaf0-2"].switch
        report = Site(fabric(), running.site.fleet).survey(["Leaf0-2"])
        assert not report.plan.blocked
        assert report.changes.keys() == {"Leaf0-2"}


def test_a_spare_with_its_former_name_is_asked_for(running: Rack) -> None:
    """It was Leaf1-1, is blank now, and stands where Leaf0-2 died."""
    with rack(fabric()) as new:
        call(new, Leaf0_2="Leaf1-1")
        running.servers["Leaf0-2"].switch = new.servers["Leaf0-2"].switch
        (found,) = running.site.apply(["Leaf0-2"]).reasons
        assert found.remedy.endswith(
            "if it is Leaf0-2, run nv set system hostname Leaf0-2 and nv config apply on it"
        )


VERBS: dict[str, Callable[[Site], Any]] = {
    "apply of one": lambda site: site.apply(["Leaf0-1"]),
    "rollback": lambda site: site.rollback(),
    "rollback of one": lambda site: site.rollback(["Leaf0-1"]),
    "drain": lambda site: Maintenance(site, "Leaf0-1", POLICY).drain(),
    "undrain": lambda site: Maintenance(site, "Leaf0-1", POLICY).undrain(),
    "decommission": lambda site: Maintenance(site, "Leaf0-1", POLICY).decommission(),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_no_verb_changes_a_switch_that_is_another_one(running: Rack, verb: Callable[[Site], Any]) -> None:
    report = verb(exchange(running, "Leaf0-1", "Leaf0-2"))
    assert report.verdict == NOTHING
    assert "calls itself Leaf0-2" in report.reasons[0].what
    assert running.writes() == []


def test_verify_says_it_too(running: Rack) -> None:
    found = [each.what for each in exchange(running, "Leaf0-1", "Leaf0-2").verify()]
    assert "the switch at 192.0.2.11 calls itself Leaf0-2" in found


# -- numbers that go from one switch to another


def swapped(content: dict[str, Any]) -> None:
    """The two leaves of a rack exchange their numbers in the intent."""
    content["switches"] = {
        "Leaf0-1": {"asn": 65102, "loopback": "10.10.10.2"},
        "Leaf0-2": {"asn": 65101, "loopback": "10.10.10.1"},
    }


def test_two_switches_that_run_do_not_exchange_their_numbers(running: Rack) -> None:
    first, second = taking_over(fabric(change=swapped), running).apply().reasons
    assert first.sentence() == (
        "Leaf0-1: runs AS 65101 and loopback 10.10.10.1, which the intent gives to Leaf0-2; keep its "
        "numbers in the intent; set "
        "switches.Leaf0-1.asn to 65101 and switches.Leaf0-1.loopback to 10.10.10.1, or give the racks their "
        "numbers again (racks[].number); to exchange them, first apply numbers that no switch has"
    )
    assert (second.subject, running.writes()) == ("Leaf0-2", [])


def test_numbers_that_no_switch_has_are_applied(running: Rack) -> None:
    def others(content: dict[str, Any]) -> None:
        content["leaves"] |= {"asn": {"first": 65301}, "loopback": "10.10.10.51"}

    assert taking_over(fabric(change=others), running).apply().applied


# -- the device, by its serial number or system MAC


def known(made: Rack, *replaced: str) -> Site:
    """A site of the changed intent, which remembers what the switches were when they ran the rack's."""
    record = made.site.survey().record
    return Site(fabric(change=changed), made.site.fleet, ownership=Ownership.of(record, replaced=replaced))


def device(made: Rack, name: str, serial: str) -> None:
    """Another device answers at a switch's address, with the configuration and the name of the old one."""
    made.servers[name].switch.serial = serial


def test_another_device_at_an_address_changes_nothing(running: Rack) -> None:
    """Also where it calls itself by the right name: DHCP gives a name with the address."""
    site = known(running)
    before, old = running.applied, running.servers["Leaf0-1"].switch.serial
    device(running, "Leaf0-1", "MT2438X99999")
    report = site.apply()
    assert report.verdict == NOTHING
    assert [each.sentence() for each in report.reasons] == [
        "Leaf0-1: the switch at 192.0.2.11 has the serial number MT2438X99999, and Leaf0-1 had serial number "
        f"{old}; correct the management address of Leaf0-1; if the device was replaced, run plan and apply "
        "with replaced=Leaf0-1"
    ]
    assert (running.writes(), running.applied) == ([], before)
    assert not site.rollback().applied
    assert not Maintenance(site, "Leaf0-1", POLICY).drain().applied
    assert running.writes() == []


def test_the_other_leaf_s_device_is_named(running: Rack) -> None:
    """Both addresses were exchanged, and both names came with them."""
    site = known(running)
    one, other = (running.servers[name].switch for name in ("Leaf0-1", "Leaf0-2"))
    one.serial, other.serial = other.serial, one.serial
    first, second = site.apply().reasons
    assert (
        first.what == f"the switch at 192.0.2.11 has the serial number {one.serial}, which is that of Leaf0-2"
    )
    assert first.remedy.startswith("correct the management address of Leaf0-1 and Leaf0-2; ")
    assert second.subject == "Leaf0-2"
    assert running.writes() == []


def test_a_new_switch_is_not_one_that_has_another_place(running: Rack) -> None:
    """The address of a switch without a record leads to one that has one."""
    record = running.site.survey().record
    site = known(running, "Leaf1-2")
    device(running, "Leaf1-2", record.boxes["Leaf0-1"].serial)
    (found, *_) = site.apply(["Leaf1-2"]).reasons
    assert found.what.endswith("which is that of Leaf0-1")
    assert running.writes() == []


def test_one_device_at_two_addresses_is_neither_switch(running: Rack) -> None:
    device(running, "Leaf0-2", running.servers["Leaf0-1"].switch.serial)
    first, second = taking_over(fabric(change=changed), running).apply().reasons
    assert (first.subject, second.subject) == ("Leaf0-1", "Leaf0-2")
    assert first.what.endswith(", and so has Leaf0-2")
    assert running.writes() == []


def test_a_replaced_switch_is_named_and_gets_everything(running: Rack) -> None:
    """Blank, as the factory sends it; what was made on the old device is not taken for this charm's on it."""
    site = known(running, "Leaf0-1")
    device(running, "Leaf0-1", "MT2438X99999")
    box = running.servers["Leaf0-1"].switch
    runs(running, factory("cumulus", new=box.rules.new), "Leaf0-1")
    assert "Leaf0-1" not in site.ownership.last
    assert site.apply(["Leaf0-1"]).applied
    assert site.survey().record.boxes["Leaf0-1"].serial == "MT2438X99999"


@pytest.mark.parametrize("told", [{}, {"serial-number": "N/A"}, {"serial-number": None, "system-mac": ""}])
def test_a_switch_that_does_not_tell_is_told_by_its_name(
    running: Rack, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]
) -> None:
    site = known(running)
    box = running.servers["Leaf0-1"].switch
    shown = box.operational
    monkeypatch.setattr(box, "operational", lambda path: shown(path) | {"platform": told})
    assert site.apply().applied
    assert "Leaf0-1" not in site.survey().record.boxes


def test_without_a_serial_number_the_system_mac_decides() -> None:
    one, other = Box("", "b0:cf:0e:00:00:01"), Box("", "b0:cf:0e:00:00:02")
    assert one.is_other(other)
    assert not one.is_other(one)
    assert not one.is_other(Box("MT1", ""))
    assert Box("MT1", one.mac).is_other(Box("MT2", one.mac))
    assert not Box("MT1", one.mac).is_other(Box("MT1", other.mac)), "a new board in the same device"


def test_releases_up_to_5_8_tell_it_elsewhere() -> None:
    with rack(fabric(), applied=True, release="5.8.0") as made:
        boxes = made.site.survey().record.boxes
        assert {name: box.serial for name, box in boxes.items()} == {
            name: server.switch.serial for name, server in made.servers.items()
        }
