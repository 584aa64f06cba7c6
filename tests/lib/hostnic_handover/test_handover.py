# SPDX-License-Identifier: Apache-2.0
"""Files in /run/ovn-offload: what one charm writes another one reads, and nothing else gets in."""

import errno
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from converge import Severity
from hostnic import handover, shapes
from hostnic.handover import (
    Handover,
    RebootRequest,
    disagreements,
    members_of,
    owner_by,
    publish,
    read_others,
    withdraw,
)
from hostnic.machine import Machine
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost

UNIT = "is not allowed; expected a unit such as nic-firmware/0"
VFS = "is not allowed; expected a number of VFs from 0 to 65535"
AGENTS = "/var/lib/juju/agents"
BDF = "0000:3b:00.0"
REQUEST = RebootRequest(("8 VFs at the next boot",), since=1_000, ready=True)
FULL = Handover(
    "roce-qos",
    "roce-qos/3",
    "nic-firmware",
    reboot=REQUEST,
    vfs={BDF: 8},
    parameters={BDF: {"CNP_DSCP_P1": 48, "ROCE_CC_PRIO_MASK_P1": "0xff", "LLDP_NB_DCBX_P1": True}},
    pending="installs its boot files",
)
PLAIN = Handover("nic-firmware", "nic-firmware/0", "nic-firmware")
CONTENT: dict[str, Any] = {"version": 1, "unit": "nic-firmware/0", "reboot_owner": "nic-firmware"}


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    for unit in ("nic-firmware-0", "sriov-switchdev-1", "roce-qos-3"):
        host.disk.install(f"{AGENTS}/unit-{unit}/agent.conf", b"", 0o600)
    return host


def put(host: FakeHost, text: str, charm: str = "nic-firmware") -> None:
    host.disk.install(handover.path_of(charm), text.encode("utf-8", "surrogateescape"), 0o600)


def test_what_is_published_is_read_by_the_others(host: FakeHost):
    assert publish(host, FULL)
    assert publish(host, PLAIN)

    assert read_others(host, "sriov-switchdev") == ((PLAIN, FULL), ())


def test_a_charm_does_not_read_its_own_file(host: FakeHost):
    publish(host, PLAIN)

    assert read_others(host, "nic-firmware") == ((), ())


def test_without_files_nothing_is_requested(host: FakeHost):
    assert read_others(host, "sriov-switchdev") == ((), ())


def test_on_a_real_file_system_it_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(handover, "DIRECTORY", str(tmp_path / "ovn-offload"))
    publish(Machine(), PLAIN)
    path = tmp_path / "ovn-offload/nic-firmware.json"
    before = path.stat()

    publish(Machine(), Handover("nic-firmware", "nic-firmware/0", "nic-firmware", pending="burns"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_ino != before.st_ino
    assert [entry.name for entry in path.parent.iterdir()] == ["nic-firmware.json"]


def test_the_same_again_writes_nothing(host: FakeHost):
    publish(host, FULL)
    host.trace.clear()

    assert not publish(host, FULL)
    assert host.trace == []


def test_a_request_keeps_its_age_while_its_reasons_stay(host: FakeHost):
    publish(host, FULL)
    later = RebootRequest(REQUEST.reasons, since=9_000, ready=True)
    changed = RebootRequest(("something else",), since=9_000, ready=True)

    assert not publish(
        host,
        Handover("roce-qos", "roce-qos/3", "nic-firmware", later, FULL.vfs, FULL.parameters, FULL.pending),
    )
    assert publish(host, Handover("roce-qos", "roce-qos/3", "nic-firmware", changed))
    ((read,), _) = read_others(host, "sriov-switchdev")
    assert read.reboot == changed


def test_a_malformed_file_of_its_own_is_replaced(host: FakeHost):
    put(host, "{")

    assert publish(host, PLAIN)
    assert read_others(host, "sriov-switchdev") == ((PLAIN,), ())


def test_a_reboot_of_the_host_deletes_it(host: FakeHost):
    publish(host, FULL)

    host.reboot()

    assert read_others(host, "sriov-switchdev") == ((), ())


def test_the_stop_hook_deletes_it_and_what_is_kept_of_clusters(host: FakeHost):
    publish(host, PLAIN)
    host.files.install(members_of("nic-firmware"), b"{}", 0o600)

    withdraw(host, "nic-firmware")
    withdraw(host, "nic-firmware")

    assert read_others(host, "sriov-switchdev") == ((), ())
    assert not host.disk.exists(members_of("nic-firmware"))


def test_the_file_of_a_unit_that_left_the_machine_is_ignored(host: FakeHost):
    publish(host, Handover("nic-firmware", "nic-firmware/7", "nic-firmware"))

    assert read_others(host, "sriov-switchdev") == ((), ())


def test_other_files_of_the_directory_are_ignored(host: FakeHost):
    for name in ("boot-outcome", ".nic-firmware.json.new", "NIC.json", "../x.json"):
        host.disk.install(f"{handover.DIRECTORY}/{name}", b"{", 0o600)

    assert read_others(host, "sriov-switchdev") == ((), ())


def test_a_field_of_a_later_revision_is_ignored(host: FakeHost):
    put(host, json.dumps({**CONTENT, "mood": "good"}))

    assert read_others(host, "sriov-switchdev") == ((PLAIN,), ())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 2}, "version: 2 is not allowed; expected 1"),
        ({"unit": "nic-firmware"}, f"unit: 'nic-firmware' {UNIT}"),
        ({"unit": "../../etc/0"}, f"unit: '../../etc/0' {UNIT}"),
        ({"reboot_owner": "Me"}, "reboot_owner: 'Me' is not allowed; expected the name of a charm"),
        ({"reboot": []}, "reboot: [] is not allowed; expected a mapping with the keys reasons, since, ready"),
        (
            {"reboot": {"reasons": [], "since": 1, "ready": True}},
            "reboot.reasons: [] is not allowed; expected a list of at least one sentence",
        ),
        (
            {"reboot": {"reasons": ["a"], "since": -1, "ready": True}},
            "reboot.since: -1 is not allowed; expected a whole number of at least 0",
        ),
        (
            {"reboot": {"reasons": ["a"], "since": 1, "ready": 1}},
            "reboot.ready: 1 is not allowed; expected true or false",
        ),
        ({"vfs": {"eth0": 8}}, f"vfs.eth0: 'eth0' is not allowed; expected {shapes.ADDRESS.allowed}"),
        ({"vfs": {BDF: 65536}}, f"vfs.{BDF}: 65536 {VFS}"),
        (
            {"parameters": {BDF: {"cnp; rm": 1}}},
            f"parameters.{BDF}.cnp; rm: 'cnp; rm' is not allowed; "
            "expected a parameter as mstconfig spells it",
        ),
        (
            {"parameters": {BDF: {"CNP": [1]}}},
            f"parameters.{BDF}.CNP: [1] is not allowed; "
            "expected one line of text, or a whole number, or true or false",
        ),
        ({"pending": "\x1b[31m"}, "pending: '\\x1b[31m' is not allowed; expected one line of text"),
    ],
)
def test_a_malformed_file_is_one_finding_and_is_ignored(host: FakeHost, fields: dict[str, Any], reason: str):
    put(host, json.dumps({**CONTENT, **fields}))
    publish(host, FULL)

    handovers, (finding,) = read_others(host, "sriov-switchdev")

    assert handovers == (FULL,)
    assert finding.severity is Severity.WARNING
    assert finding.sentence() == (
        f"/run/ovn-offload/nic-firmware.json: ignored: {reason}; "
        "refresh nic-firmware and this charm to one revision, or delete the file"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "[] is not allowed; expected a JSON object"),
        ("\udcff", "'\\udcff' is not allowed; expected JSON (Expecting value in line 1)"),
    ],
)
def test_files_that_are_not_a_handover(host: FakeHost, text: str, reason: str):
    put(host, text)

    _, (finding,) = read_others(host, "sriov-switchdev")

    assert finding.what == f"ignored: the document: {reason}"


def test_a_file_that_cannot_be_read_is_one_finding(host: FakeHost):
    publish(host, PLAIN)
    host.fail("read", handover.path_of("nic-firmware"), OSError(errno.EIO, "Input/output error"))

    assert [finding.what for finding in read_others(host, "sriov-switchdev")[1]] == [
        "ignored: Input/output error"
    ]


def test_a_value_that_is_not_allowed_is_refused_before_it_is_written(host: FakeHost):
    with pytest.raises(ValueError, match=r"^vfs\.eth0: 'eth0' is not allowed"):
        publish(host, Handover("nic-firmware", "nic-firmware/0", "nic-firmware", vfs={"eth0": 8}))

    assert host.trace == []


def test_a_charm_that_wants_a_reboot_from_another_owner_is_named():
    silent, other = Handover("y", "y/1", "x"), Handover("x", "x/1", "x", reboot=REQUEST)

    (finding,) = disagreements([PLAIN, FULL, silent, other], "nic-firmware")

    assert finding.severity is Severity.BLOCKED
    assert finding.sentence() == (
        "option reboot-owner: nic-firmware here, but x for x/1 on the same machine; "
        "give all nic-firmware applications on it one reboot-owner; nothing reboots until then"
    )


def test_the_reboot_owner_is_read_from_the_other_charms_file():
    assert owner_by([PLAIN, FULL], "roce-qos") == "nic-firmware"
    assert owner_by([PLAIN, FULL], "x") is None


bdfs = st.from_regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", fullmatch=True)
lines = st.text(max_size=30).filter(str.isprintable)
handovers = st.builds(
    Handover,
    charm=st.just("roce-qos"),
    unit=st.just("roce-qos/3"),
    reboot_owner=st.sampled_from(["nic-firmware", "sriov-switchdev"]),
    reboot=st.none()
    | st.builds(
        RebootRequest,
        st.lists(lines, min_size=1, max_size=3).map(tuple),
        st.integers(0, 2**40),
        st.booleans(),
    ),
    vfs=st.dictionaries(bdfs, st.integers(0, 1000), max_size=3),
    parameters=st.dictionaries(
        bdfs,
        st.dictionaries(
            st.from_regex(r"[A-Z][A-Za-z0-9_]{0,9}", fullmatch=True),
            lines | st.integers() | st.booleans(),
            max_size=3,
        ),
        max_size=2,
    ),
    pending=lines,
)


@given(handovers)
def test_any_handover_is_read_back(published: Handover):
    host = FakeHost()
    host.disk.install(f"{AGENTS}/unit-roce-qos-3/agent.conf", b"", 0o600)

    publish(host, published)

    assert read_others(host, "nic-firmware") == ((published,), ())
