# SPDX-License-Identifier: Apache-2.0
"""The charm's record of the switches: the trees that it has applied last, as text and from run to run."""

from collections.abc import Iterator
from copy import deepcopy
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
from lab.nvue import Issue
from online import Site
from tree import get_tree, record, render
from tree.diff import IN_VRF
from tree.foreign import VLANS
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import shut, work
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import SMALL, small
from unit.cumulus_fabric.online.test_approved import by_hand
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.test_foreign import OTHERS
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


BY_NAME = st.dictionaries(NAMES, st.dictionaries(st.text(), TREES))


@given(BY_NAME, st.frozensets(NAMES), BY_NAME)
def test_a_record_is_read_as_it_was_written(
    last: dict[str, Any], drained: frozenset[str], ended: dict[str, Any]
) -> None:
    whole = record.Record(last, drained, ended=ended)
    assert record.read(record.written(whole)) == whole


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
    assert report.record.last == {name: site.survey().last[name] for name in ("Leaf0-1", "Leaf0-2")}
    three.wires.refuse["Leaf0-2"] = Issue("systemctl", "no")
    back = Site(SMALL, three.site.fleet, ownership=Ownership(report.record.last)).apply(policy=POLICY)
    assert (back.failed, back.record.last) == (True, {})


def test_what_auto_has_set_beside_drift_goes_with_its_entry(three: Rack) -> None:
    by_hand(three, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1400}}}})
    site = taking_over(fabric(change=with_tenant), three)
    site = replace(site, ownership=Ownership({**site.ownership.last, "Leaf0-1": wanted_by(SMALL, "Leaf0-1")}))
    report = site.apply(policy=POLICY, part=partial(site.since, last=SMALL))
    assert "Leaf0-1" not in site.survey().last, "its MTU differs"
    assert "55" in get_tree(report.record.last["Leaf0-1"], *VLANS)
    back = Site(SMALL, three.site.fleet, ownership=Ownership(report.record.last)).survey()
    assert get_tree(back.patches["Leaf0-1"], *VLANS) == {"55": None}


def test_what_keeps_a_switch_drained_is_not_among_what_an_apply_has_set(three: Rack) -> None:
    assert work(three, "Leaf0-1").drain().applied
    site = taking_over(fabric(change=with_tenant), three)
    report = site.apply(policy=POLICY)
    assert shut(three, "Leaf0-1") == {"swp9"}
    assert report.record.last["Leaf0-1"] == wanted_by(site.fabric, "Leaf0-1") == site.survey().last["Leaf0-1"]


def test_a_first_apply_does_not_take_over_what_was_there_before_the_switch_runs_the_intent(
    three: Rack,
) -> None:
    by_hand(three, "Leaf0-1", {"interface": {"bond1": {"link": {"mtu": 1400}}}, **OTHERS["vlan77"]})
    site = Site(fabric(change=with_tenant), three.site.fleet)
    report = site.apply(policy=POLICY, part=partial(site.since, last=SMALL))
    assert [*get_tree(report.record.last["Leaf0-1"], *VLANS)] == ["55"]


def test_what_a_rollback_has_taken_back_is_not_known_as_applied_any_more(three: Rack) -> None:
    """Else a VLAN that others make later would go as one of the charm's."""
    site = taking_over(fabric(change=with_tenant), three)
    site = replace(
        site, ownership=Ownership({**site.ownership.last, **site.apply(policy=POLICY).record.last})
    )
    report = site.rollback(policy=POLICY)
    assert report.applied
    assert report.record.last["Leaf0-1"] == wanted_by(SMALL, "Leaf0-1")
    by_hand(three, "Leaf0-1", {"bridge": {"domain": {"br_default": {"vlan": {"55": {}}}}}})
    assert Site(SMALL, three.site.fleet, ownership=Ownership(report.record.last)).survey().changes == {}


def with_two_hosts(content: dict[str, Any]) -> None:
    small(content)
    content["racks"][0]["hosts"] = "swp9-10"


def test_a_rollback_brings_back_what_the_last_apply_has_removed_and_knows_it_again(three: Rack) -> None:
    """Only the record tells that a bond which is in no intent any more was the charm's."""
    two = taking_over(fabric(change=with_two_hosts), three)
    assert two.apply(policy=POLICY).applied
    ran, known = deepcopy(three.applied), record.Record(two.survey().last)
    site = Site(SMALL, three.site.fleet, ownership=Ownership.of(known))
    report = site.apply(policy=POLICY, cut_off=["bond2"])
    assert "bond2" not in three.applied["Leaf0-1"]["interface"]
    known = record.read(record.written(known.updated(report.record).updated(site.survey().record)))
    report = replace(site, ownership=Ownership.of(known)).rollback(policy=POLICY)
    assert (report.applied, report.reasons) == (True, ())
    assert three.applied == ran
    again = replace(site, ownership=Ownership.of(known.updated(report.record)))
    assert again.survey().patches["Leaf0-1"]["interface"]["bond2"] is None


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
