# SPDX-License-Identifier: Apache-2.0
"""`tox -e replay -- FILE`, as an operator runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from converge import Plan
from hostnic.capture.file import Shown, take
from lab.modelled import FakeHost

ROOT = Path(__file__).parents[2]
CAPTURED = """
import sys
from dataclasses import asdict
import capture
from config import Options
from hostnic.capture.file import take
from lab.modelled import FakeHost
host = FakeHost()
inputs = {"options": asdict(Options()), "controllers": [], "application": "sriov-switchdev"}
print("capture: " + take(host, "sriov-switchdev", inputs, capture.show))
"""


def run(*words, path=("lib", "tools")):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / each) for each in path)}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, check=False)


@pytest.fixture
def captured(tmp_path):
    """The output of `juju run` for a capture."""
    done = run("-c", CAPTURED, path=("lib", "tests", "charms/sriov-switchdev/src"))
    assert done.returncode == 0, done.stderr
    file = tmp_path / "capture.txt"
    file.write_text(f"Running operation 1 with 1 task\n{done.stdout}\n")
    return file


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "capture.txt cannot be read: No such file or directory."),
        (b"\x1f\x8b\x08\x00", "capture.txt:1: this is not UTF-8."),
        (
            b"status: active",
            "capture.txt: there is no capture in it: nothing begins with ovn-offload-capture:",
        ),
    ],
)
def test_a_file_that_is_no_capture_is_said_in_one_sentence(tmp_path, content, said):
    file = tmp_path / "capture.txt"
    if content is not None:
        file.write_bytes(content)
    done = run("-m", "replay", str(file))
    assert (done.returncode, done.stderr) == (2, f"{tmp_path}/{said}\n")


def test_it_shows_what_the_charm_makes_of_the_host(captured):
    done = run("-m", "replay", str(captured))
    assert done.returncode == 0, done.stderr
    for title in ("sriov-switchdev list-devices\n", "sriov-switchdev plan\n", "sriov-switchdev verify\n"):
        assert title in done.stdout
    assert "0000:3b:00.1  enp59s0f1np1  mlx5_core" in done.stdout
    assert "eswitch in legacy mode" in done.stdout


def test_it_shows_what_the_capture_has(captured):
    done = run("-m", "replay", "--content", str(captured))
    assert '"read /sys/bus/pci/devices/0000:3b:00.0/vendor": "0x15b3\\n"' in done.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nothing", "there is no capture in it: nothing begins with ovn-offload-capture:"),
        (
            take(FakeHost(), "../etc", {}, lambda *_: Shown(Plan(), (), {})),
            "it is of a charm '../etc', which has no captures in",
        ),
    ],
)
def test_what_it_cannot_show_is_one_sentence(tmp_path, text, reason):
    file = tmp_path / "capture.txt"
    file.write_text(text)
    done = run("-m", "replay", str(file))
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


OTHER_REVISIONS = {
    "an input that this one lacks": ({"later": 1}, ""),
    "an input that it has not": ({"controllers": None}, "TypeError: "),
    "an option that this one lacks": ({"options": {"later": 1}}, "TypeError: "),
    "options as a list": ({"options": []}, "TypeError: "),
}


@pytest.mark.parametrize(("inputs", "said"), OTHER_REVISIONS.values(), ids=OTHER_REVISIONS)
def test_a_capture_of_another_revision_is_shown_or_refused_in_one_sentence(tmp_path, inputs, said):
    written = f"{{**inputs, **{inputs!r}}}"
    code = CAPTURED.replace("inputs, capture.show", f"{written}, lambda s, _: capture.show(s, inputs)")
    taken = run("-c", code, path=("lib", "tests", "charms/sriov-switchdev/src"))
    assert taken.returncode == 0, taken.stderr
    file = tmp_path / "capture.txt"
    file.write_text(taken.stdout)
    done = run("-m", "replay", str(file))
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if said else 0)
    assert done.stderr.startswith(f"{file}: this revision cannot replay it ({said}" if said else "")


def test_a_charm_without_captures_is_named(tmp_path):
    file = tmp_path / "capture.txt"
    file.write_text(take(FakeHost(), "cumulus-fabric", {}, lambda *_: Shown(Plan(), (), {})))
    done = run("-m", "replay", str(file))
    said = "it is of a charm 'cumulus-fabric', which has no captures in this repository"
    assert (done.returncode, done.stderr) == (2, f"{file}: {said}\n")
