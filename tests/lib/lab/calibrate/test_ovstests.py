# SPDX-License-Identifier: Apache-2.0
"""ovs-tests on a guest that runs its commands here: what is taken from a clone, and what the table says."""

import io
import shutil
import subprocess
import tarfile

import pytest
from lab.calibrate import ovstests
from lab.calibrate.__main__ import main
from lab.calibrate.ovstests import Case, Outcome, OvsTestsError, cases, packed, revision, table

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
