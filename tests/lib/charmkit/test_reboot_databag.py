# SPDX-License-Identifier: Apache-2.0
"""Databags carry the rolling reboot's state unchanged, and anything else is one clear ValueError."""

import json
import re

import pytest
from charmkit.reboot.databag import decode_cluster, decode_unit, encode
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Approval, Cluster, Need, Probe, Slot, UnitNow, UnitState, mark
from charmkit.reboot.status import report
from charmkit.reboot.unit import decide
from hypothesis import given
from hypothesis import strategies as st


def numbered(unit: str) -> int:
    return int(unit.partition("/")[2])


counts = st.integers(0, 2**40)
texts = st.lists(st.text(max_size=20), max_size=3).map(tuple)
lines = st.text(st.characters(categories=["L", "M", "N", "P", "S"], include_characters=" "), max_size=40)
units = st.builds(
    UnitState,
    boot_id=st.text(max_size=40),
    reasons=texts,
    since=counts,
    ready=st.booleans(),
    consent=st.sampled_from(["", "always", "idle"]),
    approved=texts,
    requested_at=st.none() | counts,
    settled=st.booleans(),
    healthy_at=st.none() | counts,
    containers_up_at=st.none() | counts,
    queues_unsettled=st.booleans(),
    still_needed=texts,
    rebooted_for=st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3),
    released=counts,
    answered=st.text(max_size=40),
    contested=lines,
    saw_lock_taken=counts,
    instances=counts,
    approved_after=counts,
    zone=st.text(max_size=20),
    has_containers=st.booleans(),
    missing_members=lines,
    prepare=lines,
    osds=texts,
)
names = st.integers(0, 300).map("sriov-switchdev/{}".format)
slots = st.builds(Slot, st.integers(0, 10**8), st.integers(0, 2**40), st.none() | counts)
marks = st.text(max_size=9).map(mark)
listed = st.lists(names, max_size=3).map(tuple)
clusters = st.builds(
    Cluster,
    grant=counts,
    units=counts,
    lost=counts,
    held=st.dictionaries(names, slots, max_size=3),
    missed_by=st.just("") | names,
    approvals=st.dictionaries(
        names,
        st.builds(Approval, marks, texts, st.dictionaries(names, marks, max_size=3)),
        max_size=3,
    ),
    taken=st.dictionaries(names, counts, max_size=3),
    held_up_by=listed,
    cancels=counts,
    stopped=st.booleans(),
    may_be_down=st.dictionaries(names, lines, max_size=3),
    probe=st.builds(
        Probe,
        mark=st.text(max_size=40),
        at=counts,
        is_lazy=st.booleans(),
        with_containers=listed,
        for_grant=counts,
        unresponsive=listed,
        to_probe_again=listed,
    ),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(units)
def test_a_units_state_comes_back_as_it_was(state: UnitState):
    assert decode_unit(encode(state)) == state


@given(clusters)
def test_the_leaders_state_comes_back_as_it_was(cluster: Cluster):
    assert decode_cluster(encode(cluster)) == cluster


@pytest.mark.parametrize("empty", [None, ""])
def test_before_the_first_hook_there_is_nothing(empty: str | None):
    assert decode_unit(empty) == UnitState()
    assert decode_cluster(empty) == Cluster()


def test_equal_states_give_equal_text():
    one = UnitState(rebooted_for={"a": "1", "b": "2"})
    other = UnitState(rebooted_for={"b": "2", "a": "1"})

    assert encode(one) == encode(other)


def test_a_later_revision_may_add_fields_and_an_earlier_one_may_lack_them():
    assert decode_unit('{"version": 1, "boot_id": "b", "mood": "good"}') == UnitState(boot_id="b")
    assert decode_cluster('{"version": 1, "mood": []}') == Cluster()


def test_the_approval_of_256_units_is_less_than_4_kilobytes():
    why = "8 VFs at the next boot on 0000:3b:00.0 0000:3b:00.1"
    units = [f"sriov-switchdev/{number}" for number in range(256)]
    despite = {"sriov-switchdev/7": mark("away")}
    approvals = {unit: Approval(mark(f"boot of {unit}"), (why,), despite) for unit in units}
    missing = dict.fromkeys(units[:64], "does not answer at port 22")
    held = {unit: Slot(number, 1_790_000_000) for number, unit in enumerate(units[100:125], 200)}
    cluster = Cluster(grant=255, approvals=approvals, may_be_down=missing)._replace(held=held)

    assert len(encode(cluster)) < 4096


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"version": 2}', "version: 2 is not allowed; expected 1"),
        (
            '{"version": 1, "consent": "maybe"}',
            "consent: 'maybe' is not allowed; expected nothing, always",
        ),
        ('{"version": 1, "reasons": "because"}', "reasons: 'because' is not allowed; expected a list"),
        ('{"version": 1, "reasons": [1]}', "reasons[0]: 1 is not allowed; expected text"),
        ('{"version": 1, "settled": 1}', "settled: 1 is not allowed; expected true or false"),
        ('{"version": 1, "boot_id": null}', "boot_id: an empty value is not allowed; expected text"),
        ('{"version": 1, "requested_at": "soon"}', "requested_at: 'soon' is not allowed; expected a whole"),
        (
            '{"version": 1, "released": -1}',
            "released: -1 is not allowed; expected a whole number from",
        ),
        ('{"version": 1, "rebooted_for": {"a": 1}}', "rebooted_for.a: 1 is not allowed; expected text"),
    ],
)
def test_a_malformed_unit_is_one_sentence(text: str, says: str):
    with pytest.raises(ValueError, match=re.escape(says)):
        decode_unit(text)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"grant": "7"}, "grant: '7' is"),
        ({"approvals": {}}, "approvals: {} is"),
        ({"approvals": ["yes"]}, "approvals[0]: 'yes' is"),
        ({"approvals": [{"units": "3:aB"}]}, "approvals[0].reasons: an empty value is"),
        ({"approvals": [{"units": "3:aB", "reasons": [], "despite": "4"}]}, "approvals[0].despite: '4' is"),
        ({"taken": {"u": 7}}, "taken.u: 'u' is"),
        ({"probe": {"unresponsive": ["u/1/2"]}}, "probe.unresponsive[0]: 'u/1/2' is"),
        ({"probe": {"to_probe_again": ["/2"]}}, "probe.to_probe_again[0]: '/2' is"),
        ({"held_up_by": ["U/1"]}, "held_up_by[0]: 'U/1' is"),
        ({"missed_by": "u/01"}, "missed_by: 'u/01' is"),
        ({"held": {"5": "3:1"}}, "application: an empty value is"),
        ({"taken": {"u/0": "7"}}, "taken.u/0: '7' is"),
        ({"taken": None}, "taken: an empty value is"),
        ({"held": {"soon": "3:1"}}, "held.soon: 'soon' is"),
        ({"held": {"5": "3"}}, "held.5: '3' is"),
        ({"held": {"5": "3:" + "9" * 5000}}, f"held.5: '3:{'9' * 35}…' is"),
        ({"approvals": [{"units": "3", "reasons": []}]}, "approvals[0].units: '3' is"),
        ({"may_be_down": {"why": ""}}, "may_be_down.why: an empty value is"),
        ({"application": "no such/name"}, "application: 'no such/name' is"),
    ],
)
def test_a_malformed_leader_is_one_sentence(fields: dict[str, object], says: str):
    with pytest.raises(ValueError, match=f"^{re.escape(says)} not allowed"):
        decode_cluster(json.dumps({"version": 1, **fields}))


@pytest.mark.parametrize("wrong", ["\ud800", "two\nlines"])
def test_what_statuses_repeat_is_one_line_that_can_be_printed(wrong: str):
    """Juju's status-set takes no other text: the hooks of all other units would fail."""
    with pytest.raises(ValueError, match=r"contested: .* is not allowed; expected one line of text"):
        decode_unit(json.dumps({"version": 1, "contested": wrong}))
    with pytest.raises(ValueError, match="expected one line of text"):
        decode_cluster(json.dumps({"version": 1, "application": "u", "may_be_down": {wrong: "7"}}))


def test_a_unit_cannot_make_the_leaders_state_longer_than_can_be_read():
    reasons = tuple(f"{number}" * 1000 for number in range(100))

    with pytest.raises(ValueError, match="expected at most 65536 characters instead of"):
        decode_unit(encode(UnitState(reasons=reasons)))


@given(st.sampled_from(sorted(UnitState()._asdict() | Cluster()._asdict())), anything)
def test_no_field_can_hold_what_raises_anything_else(field: str, value: object):
    text = json.dumps({"version": 1, field: value})
    for decode in (decode_unit, decode_cluster):
        try:
            decode(text)
        except ValueError as error:
            assert str(error).isprintable()


HOST = UnitNow("sriov-switchdev/0", "b", 5000, 1_000_000, leader=True, need=Need(("r",)))


@given(clusters, units, units, st.booleans())
def test_no_state_that_can_be_read_ends_a_hook(
    cluster: Cluster, own: UnitState, peer: UnitState, leads: bool
):
    """Such as a lock without a holder among the units, or one that names a unit that nobody knows."""
    host = HOST._replace(leader=leads)
    decision = decide(host, RebootOptions(), own, {"sriov-switchdev/1": peer}, cluster)
    for finding in report(host, RebootOptions(), decision.own, decision.cluster):
        assert finding.sentence().isprintable()
    assert decode_cluster(encode(decision.cluster)) == decision.cluster
