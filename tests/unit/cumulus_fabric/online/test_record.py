# SPDX-License-Identifier: Apache-2.0
"""What the charm remembers of the switches: what it has applied last, as text and from run to run."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audit.foreign import Ownership
from cli import __main__ as cli
from cli.inputs import UsageError, write_record
from hypothesis import given
from hypothesis import strategies as st
from intent.model import Dialect, Fabric
from lab.nvue import Issue, merge
from online import Site
from tree import get_tree, record, render
from tree.diff import IN_VRF
from tree.foreign import VLANS, objects
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import shut, work
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import SMALL, small
from unit.cumulus_fabric.online.test_approved import by_hand
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.test_foreign import BRIDGED, OTHERS, without_provider
from unit.cumulus_fabric.online.unit import intent


@pytest.fixture
def three() -> Iterator[Rack]:
    with rack(SMALL, applied=True) as made:
        yield made


TREES = st.recursive(
    st.one_of(st.text(), st.integers()), lambda below: st.dictionaries(st.text(), below), max_leaves=20
)
SESSIONS = (*IN_VRF, "neighbor")
NAMES = st.sampled_from(["Leaf0-1", "Spine0"])


@given(st.dictionaries(NAMES, st.dictionaries(st.text(), TREES)), st.frozensets(NAMES))
def test_a_record_is_read_as_it_was_written(last: dict[str, Any], drained: frozenset[str]) -> None:
    whole = record.Record(last, drained)
    assert record.read(record.written(whole)) == whole


def earlier(fabric: Fabric) -> record.Record:
    """The record of the first releases: names of objects by switch and kind."""
    made: dict[str, dict[str, str]] = {}
    for switch in fabric.switches:
        names = made.setdefault(switch.name, {})
        for kind, name in sorted(objects(render.tree(fabric, switch, Dialect.UNTIL_5_14))):
            names[kind] = ",".join(filter(None, (names.get(kind), name)))
    return record.read(json.dumps({"version": 1, "made": made, "drained": ["Spine9"]}))


def test_a_fabric_with_an_earlier_record_is_taken_over_without_a_change(three: Rack) -> None:
    by_hand(three, "Leaf0-1", OTHERS["vlan77"])
    before = earlier(SMALL)
    assert record.read(record.written(before)) == before
    site = Site(SMALL, three.site.fleet, ownership=Ownership.of(before))
    assert site.apply(policy=POLICY).applied
    assert three.writes() == []
    after = before.updated(site.survey().record)
    assert after == record.Record(site.survey().last, frozenset({"Spine9"}), after.boxes)


def test_what_an_earlier_record_names_goes_with_its_entry(three: Rack) -> None:
    by_hand(three, "Leaf0-1", merge(OTHERS["vlan77"], {"interface": {"bond1": BRIDGED}}))
    fleet, wanted = three.site.fleet, fabric(change=without_provider)
    by_names = Site(wanted, fleet, ownership=Ownership.of(earlier(SMALL)))
    by_trees = taking_over(wanted, three)
    assert by_names.survey().patches == by_trees.survey().patches
    assert by_names.survey().changes.keys() == {"Leaf0-1", "Leaf0-2"}


@pytest.mark.parametrize(
    "theirs",
    [
        {"interface": {"bond1": {"acl": {"x": {"inbound": {}}}}}},
        {"interface": {"bond1": {"description": "theirs"}}},
        {"bridge": {"domain": {"br_default": {"vlan": {"10": {"ptp": {"enable": "on"}}}}}}},
    ],
)
def test_an_earlier_record_does_not_tell_what_others_have_set_on_what_stays(
    three: Rack, theirs: dict[str, Any]
) -> None:
    by_hand(three, "Leaf0-1", theirs)
    assert Site(SMALL, three.site.fleet, ownership=Ownership.of(earlier(SMALL))).survey().changes == {}


def test_a_session_that_others_have_put_into_a_group_of_theirs_stays(three: Rack) -> None:
    def without_an_uplink(content: dict[str, Any]) -> None:
        small(content)
        content["spines"]["downlinks"] = "swp15-16"

    site = taking_over(fabric(change=without_an_uplink), three)
    assert get_tree(site.survey().patches["Spine0"], *SESSIONS)["swp13"] is None
    box = three.servers["Spine0"].switch
    session = get_tree(box.revisions[box.applied_id].tree, *SESSIONS, "swp13")
    session["peer-group"] = "theirs"
    assert "swp13" not in get_tree(site.survey().patches["Spine0"], *SESSIONS)


def with_tenant(content: dict[str, Any]) -> None:
    small(content)
    content["networks"]["tenant"] = {"vlan": 55}


def test_what_a_run_has_set_is_known_whatever_the_switches_say_afterwards(three: Rack) -> None:
    site = taking_over(fabric(change=with_tenant), three)
    report = site.apply(policy=POLICY)
    assert report.last == {name: site.survey().last[name] for name in ("Leaf0-1", "Leaf0-2")}
    three.wires.refuse["Leaf0-2"] = Issue("systemctl", "no")
    back = Site(SMALL, three.site.fleet, ownership=Ownership(report.last)).apply(policy=POLICY)
    assert (back.failed, back.last) == (True, {})


def test_what_auto_has_set_beside_drift_goes_with_its_entry(three: Rack) -> None:
    by_hand(three, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1400}}}})
    site = taking_over(fabric(change=with_tenant), three)
    site = replace(site, ownership=Ownership({**site.ownership.last, "Leaf0-1": wanted_by(SMALL, "Leaf0-1")}))
    report = site.apply(policy=POLICY, part=partial(site.since, last=SMALL))
    assert "Leaf0-1" not in site.survey().last, "its MTU differs"
    assert "55" in get_tree(report.last["Leaf0-1"], *VLANS)
    back = Site(SMALL, three.site.fleet, ownership=Ownership(report.last)).survey()
    assert get_tree(back.patches["Leaf0-1"], *VLANS) == {"55": None}


def test_what_keeps_a_switch_drained_is_not_among_what_an_apply_has_set(three: Rack) -> None:
    assert work(three, "Leaf0-1").drain().applied
    site = taking_over(fabric(change=with_tenant), three)
    report = site.apply(policy=POLICY)
    assert shut(three, "Leaf0-1") == {"swp9"}
    assert report.last["Leaf0-1"] == wanted_by(site.fabric, "Leaf0-1") == site.survey().last["Leaf0-1"]


def test_a_first_apply_does_not_take_over_what_was_there_before_the_switch_runs_the_intent(
    three: Rack,
) -> None:
    by_hand(three, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1400}}}, **OTHERS["vlan77"]})
    site = Site(fabric(change=with_tenant), three.site.fleet)
    report = site.apply(policy=POLICY, part=partial(site.since, last=SMALL))
    assert [*get_tree(report.last["Leaf0-1"], *VLANS)] == ["55"]


def test_what_a_rollback_has_taken_back_is_not_known_as_applied_any_more(three: Rack) -> None:
    """Else a VLAN that others make later would go as one of the charm's."""
    site = taking_over(fabric(change=with_tenant), three)
    site = replace(site, ownership=Ownership({**site.ownership.last, **site.apply(policy=POLICY).last}))
    report = site.rollback(policy=POLICY)
    assert report.applied
    assert report.last["Leaf0-1"] == wanted_by(SMALL, "Leaf0-1")
    by_hand(three, "Leaf0-1", {"bridge": {"domain": {"br_default": {"vlan": {"55": {}}}}}})
    assert Site(SMALL, three.site.fleet, ownership=Ownership(report.last)).survey().changes == {}


def wanted_by(intent: Fabric, name: str) -> dict[str, Any]:
    switch = intent.switch(name)
    assert switch is not None
    return render.tree(intent, switch, Dialect.UNTIL_5_14)


def test_a_record_that_is_too_long_to_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "record.json"
    kept.write_text("{}")
    monkeypatch.setattr(record, "MAX_CHARS", 20)
    with pytest.raises(UsageError, match=r"record\.json stays as it is: .* at most 20 characters"):
        write_record(str(kept), record.Record(drained=frozenset({"Spine0"})))
    assert kept.read_text() == "{}"


def test_the_command_line_keeps_it_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "record.json"
    broken.write_text('{"version": 2, "made": {}}')
    text = tmp_path / "intent.yaml"
    text.write_text(intent())
    login = tmp_path / "login"
    login.write_text("cumulus:x")
    login.chmod(0o600)
    words = ["plan", "--intent", str(text), "--credentials", str(login), "--record", str(broken)]
    assert cli.main(words) == 2
    assert capsys.readouterr().err == (f"--record: {broken}: version: 2 is not allowed; expected 1\n")
