# SPDX-License-Identifier: Apache-2.0
"""The charm's files for its boot units, its timer and its next hook come back as they were."""

import live
import pytest
import record
from boot import bootfile
from converge import StepError
from desired import Desired, WantedPort
from hostnic.cpus import MAX_QUEUES
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.modelled import FakeHost
from observed import BootFailure, Follower, PhaseRecord, PortState
from unit.sriov_switchdev.node import Node

bdfs = st.from_regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", fullmatch=True)
names = st.from_regex(r"[a-z][a-z0-9_.-]{0,14}", fullmatch=True)
macs = st.from_regex(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", fullmatch=True)
ports = st.builds(
    WantedPort,
    bdf=bdfs,
    netdev=names,
    num_vfs=st.integers(0, 0xFFFF),
    bond=st.none() | names,
    lag=st.booleans(),
    mac=st.none() | macs,
    card=st.none() | st.from_regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]", fullmatch=True),
    former=st.lists(bdfs | names, max_size=2).map(tuple),
)
several = st.lists(ports, max_size=3, unique_by=lambda port: port.bdf).map(tuple)
wanted = st.builds(
    Desired,
    ports=several,
    absent=several,
    steering_mode=st.sampled_from([None, "smfs", "dmfs"]),
    lag_required=st.booleans(),
    uplink_queues=st.integers(0, MAX_QUEUES),
    follow_uplink=st.booleans(),
)


@settings(max_examples=30, deadline=None)
@given(wanted)
def test_the_desired_state(found: Desired) -> None:
    assert bootfile.from_json(found.to_json()) == found


@given(st.text(), st.dictionaries(st.integers(1), names, max_size=3))
def test_the_note_of_the_service_that_follows_uplinks(stamp: str, lowered: dict[int, str]) -> None:
    host = FakeHost()
    record.write_follower(host, Follower(stamp, lowered))
    assert record.read_follower(host) == Follower(stamp, lowered)


failures = st.builds(BootFailure, st.text(), st.text(), st.text())


@given(
    st.sampled_from(["running", "done", "failed"]), st.lists(failures, max_size=3).map(tuple), st.integers(0)
)
def test_the_record_of_a_boot_unit(
    state: record.State, problems: tuple[BootFailure, ...], count: int
) -> None:
    host = FakeHost()

    record.write_boot(host, "restore", state, problems, count)

    assert record.read_boot(host).phases == {"restore": PhaseRecord(state, host.now(), problems, count)}


@settings(max_examples=30, deadline=None)
@given(st.text(), st.text())
def test_the_record_of_a_live_change(target: str, undone: str) -> None:
    host = FakeHost()

    record.count_live_failure(host, target, undone)

    assert record.read_live(host) == record.LiveRecord(target, 1, undone)


@pytest.mark.parametrize("wrong", [{"mode": "a later mode"}, {"netdev": "two words"}, {"num_vfs": -1}])
def test_a_live_change_is_not_begun_with_a_state_that_could_not_be_restored(
    small: Node, wrong: dict[str, object]
) -> None:
    before = PortState("0000:3b:00.0", "enp59s0f0np0", "legacy", 2, True, "bond0")._replace(**wrong)

    with pytest.raises(StepError, match="could not be read again to restore it"):
        live.Arm((before,), "x").run(small.host)

    assert not small.host.disk.exists(record.PREVIOUS)
