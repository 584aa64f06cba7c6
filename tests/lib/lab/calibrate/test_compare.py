# SPDX-License-Identifier: Apache-2.0
"""Two recordings side by side: what is found, what has a reason, what the command's exit status is."""

import dataclasses
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from lab.calibrate import __main__ as command
from lab.calibrate import purposes
from lab.calibrate.compare import compare, places
from lab.calibrate.purposes import Purpose
from lab.calibrate.recording import Recording, Result, read
from lab.calibrate.sequences import SEQUENCES
from lab.releases import RELEASES

STATE = {"port0": {"mode": "switchdev", "channels": "1"}, "port1": {"mode": "legacy", "channels": "all"}}
FAILED = "mlx5_core PF0: CREATE_FLOW_TABLE(0x930) failed, syndrome ({}), err(-22)"
REFUSED = Result(
    "to switchdev", "switch", 1, "EINVAL", ["Error: refused"], [], [FAILED.format("0x1")], STATE, 0.1
)
SHOWN = Result("show", "show", 0, "", [], ["NUM_OF_VFS 8", "SRIOV_EN True(1)"], [], STATE, 0.1)
VIRTUAL = Recording({"kind": "virtual"}, STATE, {"modes": [REFUSED, SHOWN]})
SYNDROME = Purpose("modes/*/log", r"syndrome \(0x[0-9a-f]+\)", "Syndromes belong to a firmware's version.")


def recorded(**changes):
    """The same of a real card, with changes in the first operation."""
    return Recording({"kind": "real"}, STATE, {"modes": [dataclasses.replace(REFUSED, **changes), SHOWN]})


def test_equal_recordings_have_no_difference_whatever_card_and_time():
    found = compare(recorded(seconds=4.2), VIRTUAL, [])
    assert (found.differences, found.compared) == ([], 2)
    assert found.text() == "2 operations compared: 0 unexpected differences, 0 on purpose."


@pytest.mark.parametrize(
    ("changes", "field", "there", "here"),
    [
        ({"status": 0}, "status", ["0"], ["1"]),
        ({"errno": "EBUSY"}, "errno", ["EBUSY"], ["EINVAL"]),
        ({"message": ["Error: busy"]}, "message", ["Error: busy"], ["Error: refused"]),
        ({"output": ["a word"]}, "output", ["a word"], []),
        ({"log": [FAILED.format("0x1"), "more"]}, "log", ["more"], []),
        ({"command": "switch to"}, "command", ["switch to"], ["switch"]),
        (
            {"state": {**STATE, "port0": {"mode": "legacy", "channels": "1"}}},
            "state.port0.mode",
            ["legacy"],
            ["switchdev"],
        ),
        ({"state": {**STATE, "port1": {"mode": "legacy"}}}, "state.port1.channels", ["(not there)"], ["all"]),
    ],
)
def test_every_field_is_compared(changes, field, there, here):
    (difference,) = compare(recorded(**changes), VIRTUAL, []).unexplained
    assert difference.place == f"modes/to switchdev/{field}"
    assert (difference.recorded, difference.virtual) == (there, here)


def test_the_same_lines_in_another_order_are_a_difference():
    other = Recording({}, STATE, {"modes": [REFUSED, dataclasses.replace(SHOWN, output=SHOWN.output[::-1])]})
    (difference,) = compare(other, VIRTUAL, []).unexplained
    assert (difference.recorded, difference.virtual) == (SHOWN.output[::-1], SHOWN.output)


def test_an_operation_and_a_sequence_that_only_one_has_are_differences():
    more = Recording({}, STATE, {"modes": [REFUSED], "lag": [SHOWN]})
    found = {each.place: (each.recorded, each.virtual) for each in compare(more, VIRTUAL, []).unexplained}
    assert found["modes/show/status"] == (["(not there)"], ["0"])
    assert found["lag/show/status"] == (["0"], ["(not there)"])


def test_a_difference_that_the_list_allows_is_printed_with_its_reason():
    found = compare(recorded(log=[FAILED.format("0xbeef")]), VIRTUAL, [SYNDROME])
    assert found.unexplained == []
    assert found.text().splitlines() == [
        "modes/to switchdev/log",
        f"    recorded: {FAILED.format('0xbeef')}",
        f"    virtual:  {FAILED.format('0x1')}",
        "    on purpose: Syndromes belong to a firmware's version.",
        "2 operations compared: 0 unexpected differences, 1 on purpose.",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"log": [FAILED.format("0xbeef"), "another line"]},
        {"log": [FAILED.format("0xbeef").replace("-22", "-16")]},
        {"log": []},
        {"message": [FAILED.format("0xbeef")]},
    ],
)
def test_a_reason_covers_no_more_than_its_place_and_its_text(changes):
    assert len(compare(recorded(**changes), VIRTUAL, [SYNDROME]).unexplained) == 1


def test_a_place_may_have_several_reasons():
    more = Purpose("*/log", "mlx5_core PF0: a timer.*", "Only a real card has timers.")
    found = compare(
        recorded(log=[FAILED.format("0x2"), "mlx5_core PF0: a timer ended"]), VIRTUAL, [SYNDROME, more]
    )
    (difference,) = found.differences
    assert difference.reasons == (SYNDROME.reason, more.reason)


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A recording in the committed one's place; writes another one and returns its path."""
    monkeypatch.setattr(command, "COMMITTED", {"noble": tmp_path / "virtual.json"})
    VIRTUAL.write(tmp_path / "virtual.json")

    def write(recording):
        recording.write(tmp_path / "real.json")
        return str(tmp_path / "real.json")

    return write


def test_the_command_succeeds_when_nothing_differs(committed, capsys):
    assert command.main(["--compare", committed(recorded())]) == 0
    assert "0 unexpected differences" in capsys.readouterr().out


def test_the_command_fails_when_something_differs_and_prints_it(committed, capsys):
    assert command.main(["--compare", committed(recorded(errno="EBUSY"))]) == 1
    assert "modes/to switchdev/errno\n    recorded: EBUSY\n    virtual:  EINVAL\n" in capsys.readouterr().out


def test_the_command_says_in_one_sentence_that_a_file_is_not_there(capsys):
    assert command.main(["--compare", "/nowhere/real.json"]) == 1
    assert capsys.readouterr().err == "\n/nowhere/real.json cannot be read: No such file or directory\n"


def test_a_release_without_a_recording_is_named_before_a_guest_starts(monkeypatch, capsys):
    monkeypatch.setenv("LAB_RELEASES", "noble")
    monkeypatch.setattr(command, "Guest", lambda release: pytest.fail(f"a guest of {release} starts"))
    monkeypatch.setattr(command, "COMMITTED", {"jammy": Path("a"), "trixie": Path("b")})
    assert command.main([]) == 1
    said = "LAB_RELEASES=noble: only jammy or trixie has a recording; --record FILE makes one"
    assert capsys.readouterr().err == f"\n{said}\n"


@pytest.mark.parametrize(
    ("kernel", "iproute2", "beside"),
    [
        ("5.4.0-216-generic", "5.15.0", "jammy-5.15"),
        ("5.15.0-204-generic", "5.15.0", "jammy-5.15"),
        ("6.1.0-56-amd64", "6.1.0", "jammy-5.15"),
        ("6.8.0-149-generic", "5.15.0", "jammy"),
        ("6.8.0-149-generic", "6.1.0", "noble"),
        ("6.8.0-149-generic", "6.17.0", "jammy"),
        ("6.11.0-29-generic", "6.1.0", "noble"),
        ("7.2.1", "6.1.0", "trixie"),
        ("", "", "jammy-5.15"),
    ],
)
def test_a_recording_is_compared_with_that_of_its_kernel_or_of_the_nearest_older_one(
    tmp_path, monkeypatch, kernel, iproute2, beside
):
    tools = {"trixie": "6.15.0", "jammy-5.15": "5.15.0", "jammy": "5.15.0", "noble": "6.1.0"}
    there = {name: tmp_path / name for name in tools}
    for name, path in there.items():
        Recording({"iproute2": tools[name]}, STATE, {}).write(path)
    monkeypatch.setattr(command, "COMMITTED", there)
    assert command.committed(Recording({"kernel": kernel, "iproute2": iproute2}, STATE, {})) == there[beside]


@pytest.fixture(params=command.COMMITTED)
def release(request):
    """One that has a recording."""
    return request.param


@pytest.fixture
def own(release):
    """The place of the virtual card's own recording in a guest of this release."""
    return command.COMMITTED[release]


def test_the_committed_recording_is_the_virtual_cards_and_has_every_operation(own, release):
    recording = read(own)
    assert recording.card["kind"] == "virtual"
    assert recording.card["kernel"].startswith("{}.{}.".format(*RELEASES[release].linux))
    assert {
        name: [(each.name, each.command) for each in results] for name, results in recording.sequences.items()
    } == {
        sequence.name: [(each.name, each.command) for each in sequence.operations] for sequence in SEQUENCES
    }


def test_the_committed_recording_tells_no_machine_apart(own):
    text = own.read_text()
    assert re.findall(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}|3b:0\d|enp59s0|node-1|[0-9a-f]{16}", text) == []


def test_each_purposeful_difference_has_a_sentence_and_covers_something_that_is_compared():
    compared = [place for place, _ in places(read(command.COMMITTED["trixie"]))]
    known = purposes.read()
    assert known
    for each in known:
        re.compile(each.text)
        assert re.fullmatch(r"[A-Z].{20,}\.", each.reason), each
        assert any(fnmatchcase(place, each.where) for place in compared), each
