# SPDX-License-Identifier: Apache-2.0
"""ovs-tests on a guest that runs its commands here: what is taken from a clone, and what the table says."""

import io
import shutil
import subprocess
import tarfile

import pytest
from lab.calibrate import ovstests
from lab.calibrate.__main__ import main
from lab.calibrate.ovstests import Case, Outcome, OvsTestsError, cases, packed, revision, run, run_all, table
from lab.calibrate.shell import PORTS, PREPARE
from lab.guest import Completed, GuestError

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")


def git(folder, *words):
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run([GIT, "-C", folder, *identity, *words], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "ovs-tests"
    (folder / "ovn-tests").mkdir(parents=True)
    (folder / "common.sh").write_text("echo $CONFIG\n")
    (folder / "test-passes.sh").write_text('. ./common.sh; [ -e "$CONFIG" ]\n')
    (folder / "test-fails.sh").write_text("echo wrong; exit 1\n")
    (folder / "check.py").write_text("")
    (folder / "README.md").write_text("")
    (folder / "ovn-tests" / "deep.sh").write_text("")
    return folder


@pytest.fixture
def committed(clone):
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "all")
    return clone


class LocalGuest:
    """Runs cases in this process' own shell, and no others' commands; remembers what it was asked for."""

    def __init__(self):
        self.trace = []

    def save(self, name):
        self.trace.append(f"save {name}")

    def load(self, name):
        self.trace.append(f"load {name}")

    def reboot(self):
        self.trace.append("reboot")

    def run(self, command, check=True, timeout=60):
        if isinstance(command, str):
            self.trace.append("prepare" if command == PREPARE else command)
            return Completed(0, "", "")
        if PORTS in command[-1]:
            return Completed(0, "0000:3b:00.0 enp59s0f0np0\n0000:3b:00.1 enp59s0f1np1\n", "")
        if ovstests.PLACE + "/config.sh <<" in command[-1]:
            self.trace.append("configure")
            return Completed(0, "", "")
        assert timeout > ovstests.LONGEST
        self.trace.append("run")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return Completed(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place(clone, monkeypatch):
    (clone / "config.sh").write_text("")
    monkeypatch.setattr(ovstests, "PLACE", str(clone))
    return clone


def begun(firmware, snapshot):
    """What makes a guest ready for cases with these settings."""
    setting = f"mstconfig -y -d 3b:00.0 set {firmware}"
    return ["load ovs-tests", setting, "reboot", "prepare", "configure", f"save {snapshot}"]


def test_each_case_runs_in_a_guest_that_was_just_booted_with_its_firmware_settings(place):
    guest, told = LocalGuest(), []
    wrong = Case("test-fails", "It is wrong.")
    absent = Case("test-not-here", left_out="It needs a second server.")
    chosen = [Case("test-passes"), absent, Case("test-passes", firmware="NUM_OF_VFS=127"), wrong]
    found = run_all(guest, chosen, told.append)
    assert [each.word for each in found] == ["passes", "not run", "passes", "fails"]
    assert all(each.expected for each in found)
    assert found[3].output == "wrong\n"
    assert guest.trace == [
        "save ovs-tests",
        *begun("NUM_OF_VFS=32", "ovs-tests-0"),
        "run",
        *begun("NUM_OF_VFS=127", "ovs-tests-1"),
        "run",
        "load ovs-tests-0",
        "run",
    ]
    assert told == ["test-passes", "test-passes", "test-fails"]


def test_a_case_that_takes_too_long_or_the_guest_down_does_not_end(place, monkeypatch):
    monkeypatch.setattr(ovstests, "LONGEST", 0.0)  # of timeout: never; so the shell's own status
    (place / "test-slow.sh").write_text("exit 124\n")
    assert run(LocalGuest(), Case("test-slow")).word == "does not end"

    class Lost(LocalGuest):
        def run(self, command, check, timeout):
            raise GuestError("QEMU closed the channel")

    lost = run(Lost(), Case("test-passes"))
    assert (lost.word, lost.expected, lost.output) == ("does not end", False, "QEMU closed the channel")


def test_only_the_scripts_of_the_folder_itself_are_taken(clone):
    with tarfile.open(fileobj=io.BytesIO(packed(clone))) as tar:
        assert sorted(tar.getnames()) == ["check.py", "common.sh", "test-fails.sh", "test-passes.sh"]


@needs_git
def test_the_revision_is_the_commit_and_tells_changes(committed):
    before = revision(committed)
    assert len(before) == 40
    (committed / "test-fails.sh").write_text("exit 0\n")
    assert revision(committed) == f"{before} (changed)"


def test_another_folder_is_refused(tmp_path, capsys):
    assert main(["--ovs-tests", str(tmp_path)]) == 1
    assert "clone https://github.com/Mellanox/ovs-tests and name that folder" in capsys.readouterr().err


@needs_git
def test_a_folder_that_is_no_clone_is_refused(clone):
    with pytest.raises(OvsTestsError, match="is no clone of ovs-tests: "):
        revision(clone)


def test_the_table_has_each_case_with_its_reason_and_nothing_of_its_text():
    outcomes = [
        Outcome(Case("test-a"), 0, "words of theirs", 1.0),
        Outcome(Case("test-b", "The card has no VF rates."), 1, "words of theirs", 1.0),
        Outcome(Case("test-c"), 1, "words of theirs", 1.0),
        Outcome(Case("test-d", "It should not."), 0, "words of theirs", 1.0),
        Outcome(Case("test-e", left_out="It needs a second server."), None, "", 0.0),
    ]
    text = table(outcomes, "39d46ece", "the virtual card")
    assert "| `test-a` | passes |  |" in text
    assert "| `test-b` | fails | The card has no VF rates. |" in text
    assert "| `test-c` | fails | unexpected |" in text
    assert "| `test-e` | not run | It needs a second server. |" in text
    assert "words of theirs" not in text
    assert "revision 39d46ece" in text
    assert [each.expected for each in outcomes] == [True, True, False, False, True]


def test_the_committed_table_has_every_case_of_the_list_as_the_list_expects_it():
    rows = [
        line.split("|")[1:4] for line in ovstests.TABLE.read_text().splitlines() if line.startswith("| `")
    ]
    told = {case.strip(" `"): (result.strip(), why.strip()) for case, result, why in rows}
    assert list(told) == [each.case for each in cases()]
    for each in cases():
        result, why = told[each.case]
        expected = "not run" if each.left_out else "passes" if not each.differs else "fails"
        assert result == expected
        assert why == (each.left_out or each.differs)
