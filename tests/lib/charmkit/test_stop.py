# SPDX-License-Identifier: Apache-2.0
"""The stop hook as a process of its own, with ops.main and hook commands of a Juju that may have hung up."""

import os
import subprocess
import sys
from pathlib import Path

import ops
import pytest

CHARM = """
import pathlib
import ops
from charmkit.reconcile import Reconciler, Removed
from converge import Plan

class Charm(ops.CharmBase):
    def __init__(self, framework):
        super().__init__(framework)
        nothing, empty = lambda: (), lambda _: Plan()
        self.reconciler = Reconciler(self, converge=nothing, preview=empty, verify=nothing, stop=self.leave)

    def leave(self):
        pathlib.Path("installed").unlink()
        return Removed("removed; the ports stay as they are", ["cannot remove rule: Read-only file system"])

ops.main(Charm)
"""
ANSWERS = {"is-leader": "echo true", "status-set": "true", "juju-log": "true"}
CLOSED = "echo ERROR connection is shutdown before send >&2; exit 1"
LIB = Path(__file__).parents[3] / "lib"


@pytest.fixture
def charm(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/charm.py").write_text(CHARM)
    (tmp_path / "metadata.yaml").write_text("name: tiny\n")
    (tmp_path / "actions.yaml").write_text("plan: {}\nverify: {}\n")
    (tmp_path / "installed").touch()
    (tmp_path / "told").touch()
    return tmp_path


def stop(charm: Path, *closed: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run it; ``closed`` hook commands fail from the charm's removal on. Also what the others were told."""
    tools = charm / "tools"
    tools.mkdir()
    for name, answer in ANSWERS.items():
        fails = f"[ -e {charm}/installed ] || {{ {CLOSED}; }}\n" if name in closed else ""
        (tools / name).write_text(f'#!/bin/sh\n{fails}echo "{name} $*" >>{charm}/told\n{answer}\n')
        (tools / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(charm / "src/charm.py")],
        cwd=charm,
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": f"{LIB}:{Path(ops.__file__).parents[1]}",
            "JUJU_VERSION": "4.0.15",
            "JUJU_DISPATCH_PATH": "hooks/stop",
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
