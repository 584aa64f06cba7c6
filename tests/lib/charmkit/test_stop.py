# SPDX-License-Identifier: Apache-2.0
"""The stop hook and actions as processes of their own, with hook commands of a Juju that may have hung up."""

import os
import subprocess
import sys
from pathlib import Path

import ops
import pytest
from lab.juju.hooktools import declared

CHARM = """
import pathlib
import ops
from charmkit.reconcile import Reconciler, Removed, Verbs, main
from converge import Plan

class Charm(ops.CharmBase, Verbs):
    def __init__(self, framework):
        super().__init__(framework)
        self.reconciler = Reconciler(self, self)

    def converge(self):
        return ()

    def verify(self):
        return ()

    def preview(self, given):
        self.stop()
        self.model.get_relation("peers").data[self.unit]["key"] = "value"
        return Plan()

    def stop(self):
        pathlib.Path("installed").unlink()
        return Removed("removed; the ports stay as they are", ["cannot remove rule: Read-only file system"])

main(Charm)
"""
ANSWERS = {"is-leader": "echo true", "status-set": "true", "juju-log": "true"}
ANSWERS |= {"action-get": "echo {}", "action-set": "true", "action-fail": "true"}
ANSWERS |= {
    "relation-ids": "echo '[\"peers:1\"]'",
    "relation-list": "echo []",
    "relation-get": "echo {}",
    "relation-set": "true",
}
CLOSED = "ERROR connection is shutdown before send"
LIB = Path(__file__).parents[3] / "lib"


@pytest.fixture
def charm(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/charm.py").write_text(CHARM)
    (tmp_path / "metadata.yaml").write_text("{name: tiny, peers: {peers: {interface: tiny}}}")
    (tmp_path / "actions.yaml").write_text("plan: {}\nverify: {}\n")
    (tmp_path / "installed").touch()
    (tmp_path / "told").touch()
    return tmp_path


def stop(
    charm: Path, *closed: str, action: str = "", source: Path | None = None, says: str = CLOSED
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run it, or an action; ``closed`` hook commands fail from the charm's removal on.

    Also what the others were told.
    """
    source = source or charm / "src"
    tools = charm / "tools"
    tools.mkdir()
    for name, answer in ANSWERS.items():
        fails = f"[ -e {charm}/installed ] || {{ echo {says} >&2; exit 1; }}\n" if name in closed else ""
        (tools / name).write_text(f'#!/bin/sh\n{fails}echo "{name} $*" >>{charm}/told\n{answer}\n')
        (tools / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(source / "charm.py")],
        cwd=charm,
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": f"{LIB}:{source}:{Path(ops.__file__).parents[1]}",
            "JUJU_VERSION": "4.0.15",
            "JUJU_DISPATCH_PATH": f"actions/{action}" if action else "hooks/stop",
            **({"JUJU_ACTION_NAME": action, "JUJU_ACTION_UUID": "1"} if action else {}),
            "JUJU_CHARM_DIR": str(charm),
            "JUJU_UNIT_NAME": "tiny/0",
            "JUJU_MODEL_NAME": "node",
            "JUJU_MODEL_UUID": "6f3a4519-89ba-4c58-876c-b08a8f8ed7b5",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done, (charm / "told").read_text()


def test_the_status_says_what_stays(charm: Path) -> None:
    done, told = stop(charm)
    assert (done.returncode, done.stderr) == (0, "")
    assert "juju-log --log-level ERROR -- cannot remove rule: Read-only file system" in told
    assert "removed; the ports stay as they are" in told.partition("status-set")[2]


@pytest.mark.parametrize("closed", [("status-set", "is-leader"), ("status-set", "is-leader", "juju-log")])
def test_a_closed_session_is_no_traceback_and_no_failed_hook(charm: Path, closed: tuple[str, ...]) -> None:
    done, told = stop(charm, *closed)
    assert (done.returncode, "Traceback" in done.stderr + told) == (0, False)
    assert not (charm / "installed").exists()
    assert done.stderr.splitlines() == [
        "cannot remove rule: Read-only file system",
        "removed; the ports stay as they are",
        "Juju took no status: ERROR connection is shutdown before send",
    ]


# Actions, while ``remove-unit --force`` takes the unit, or somebody removes a relation.

CHARMS = Path(__file__).parents[3] / "charms"


@pytest.mark.parametrize(
    "closed",
    [("action-set", "action-fail"), ("relation-set", "action-fail"), tuple(ANSWERS)],
)
def test_an_action_whose_unit_is_gone_is_one_line_in_the_log_and_fails(
    charm: Path, closed: tuple[str, ...]
) -> None:
    done, told = stop(charm, *closed, action="plan")
    said = "action plan ends without a result: ERROR connection is shutdown before send"
    assert (done.returncode, done.stderr.splitlines()) == (1, [said])
    assert "Traceback" not in told


def test_an_action_whose_unit_is_gone_when_ops_looks_for_the_leader_fails_the_same(charm: Path) -> None:
    done, told = stop(charm, "is-leader", action="plan")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "action-set plan=" in told


def test_an_action_whose_hook_commands_are_gone_with_the_agent_fails_the_same(charm: Path) -> None:
    source = charm / "src/charm.py"
    taken = '        __import__("shutil").rmtree("tools")'
    source.write_text(source.read_text().replace("        self.stop()", taken))
    done, _ = stop(charm, action="plan")
    said = "action plan ends without a result: No such file or directory"
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith(said)


@pytest.mark.parametrize(
    ("says", "told"),
    [(CLOSED, CLOSED), ("ERROR relation 1 not found", "a relation is gone")],
)
def test_an_action_that_juju_refuses_a_command_fails_with_one_sentence(
    charm: Path, says: str, told: str
) -> None:
    done, heard = stop(charm, "relation-set", action="plan", says=says)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"action-fail -- {told}\n" in heard


@pytest.mark.parametrize("name", ["nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric"])
def test_each_charms_action_is_one_line_where_its_unit_is_gone(charm: Path, name: str) -> None:
    unit, _ = declared(CHARMS / name, charm / name)
    (unit / "told").touch()
    done, told = stop(unit, *ANSWERS, action="verify", source=CHARMS / name / "src")
    said = "action verify ends without a result: ERROR connection is shutdown before send"
    assert (done.returncode, done.stderr.splitlines(), told) == (1, [said], "")
