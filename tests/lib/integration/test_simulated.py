# SPDX-License-Identifier: Apache-2.0
"""The integration tests against a simulated `juju`: they pass on 3.6 and 4.0; each fault makes one fail.

They run with the very command of tox.ini: some at each push, all of them and the faults at night.
"""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from integration.said import CHARMS
from lab.juju import uniter

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests"
TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini")
SUITE = TOX["testenv:integration"]
ONE = "lacks or hooks or (values and roce) or (action and sriov)"
FAILS = {
    "deaf to options": "lacks or (values and sriov)",
    "accepts everything": "lacks or (values and fabric)",
    "stays refused": "lacks or (values and nic)",
    "hook fails": "lacks",
    "one unit lags": "lacks",
    "leaves files": "lacks or behind",
    "unit stays": "lacks or behind",
    "no reboot": "lacks or request",
    "reboots all": "lacks or request",
    "reboots twice": "lacks or request",
    "action fails": "lacks or action",
    "refresh is stuck": "lacks or forth",
    "secret is cached": "lacks or secret",
    "starts before options": "lacks or hooks",
    "changed before joined": "lacks or hooks",
    "removed before stop": "lacks or behind",
    "broken before departed": "lacks or parted",
}
"""Each fault, and tests of which at least one must notice it."""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with `juju`, a packed principal, and the packed charms as this and the previous revision."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/juju").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "bin/juju").chmod(0o755)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = []\n")
    for name in (*CHARMS, "principal"):
        for folder in ("build", "previous"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{name}_ubuntu@22.04-amd64.charm").touch()
    return tmp_path


def given(site: Path) -> list[str]:
    """Options as the README writes them: their values are words of their own, and existing paths."""
    principal = str(site / "build/principal_ubuntu@22.04-amd64.charm")
    return ["--charms", f"{site}/build", "--previous", f"{site}/previous", "--principal", principal]


def outcome(site: Path, *arguments: str, **simulated: str) -> tuple[int, str]:
    """The exit status and the last line, without what takes its time."""
    variables = dict(line.split(" = ") for line in SUITE["set_env"].strip().splitlines() if " = " in line)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JUJU_")} | {
        "PATH": f"{site}/bin:{os.environ['PATH']}",
        "PYTHONPATH": variables["PYTHONPATH"].replace("{tox_root}", str(ROOT)),
        "PYTHONDONTWRITEBYTECODE": "1",
        **simulated,
    }
    _, *command = SUITE["commands"].replace("{tox_root}", str(ROOT)).replace("{posargs}", "").split()
    command = [each for each in command if each != "--asyncio-mode=auto"]  # pytest-operator's
    plugins = ["-q", "-p", "lab.juju.simulated", "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *command, *arguments, *plugins],
        cwd=SUITE["change_dir"].replace("{tox_root}", str(ROOT)),
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    return run.returncode, re.sub(r" in [\d.]+s.*", "", run.stdout.splitlines()[-1])


FILES = ["test_charms.py", "test_refresh.py"]


@pytest.mark.thorough
def test_all_tests_pass(site: Path) -> None:
    status, said = outcome(site, *given(site), *FILES)
    assert (status, re.sub(r"\d+", "N", said)) == (0, "N passed")
    assert int(said.split()[0]) > 50


def test_on_juju_3_as_well(site: Path) -> None:
    status, said = outcome(site, *given(site), "-k", ONE, *FILES, SIMULATED_VERSION="3.6.11")
    assert (status, re.sub(r"\d+", "N", said)) == (0, "N passed, N deselected")


@pytest.mark.thorough
@pytest.mark.parametrize("with_equals", [False, True], ids=["as two words", "as one word"])
def test_options_are_taken_as_two_words_or_as_one(site: Path, *, with_equals: bool) -> None:
    words = given(site)
    pairs = [f"{name}={value}" for name, value in zip(words[::2], words[1::2])]
    status, said = outcome(site, *(pairs if with_equals else words), "-k", "lacks", "test_charms.py")
    assert (status, said) == (0, f"{len(CHARMS)} passed, {int(said.split()[2])} deselected")


def test_tox_leaves_the_paths_as_they_are_written() -> None:
    """Else it has `--charms build` begin at the tests' folder, where the README's begin at the root."""
    assert SUITE["args_are_paths"] == "false"


@pytest.mark.thorough
def test_the_principal_is_charmhubs_ubuntu_unless_a_file_is_named(site: Path) -> None:
    local, run = given(site), ["-k", "lacks", "test_charms.py"]
    assert outcome(site, *local[:4], *run)[0] == 1
    assert outcome(site, *local[:4], *run, SIMULATED_CHARMHUB="yes")[0] == 0
    assert outcome(site, *local[:4], "--principal", "nowhere.charm", *run)[0] == 1


@pytest.mark.thorough
def test_the_hooks_of_a_run_are_recorded_in_the_form_of_the_labs(site: Path) -> None:
    path = site / "hooks.yaml"
    chosen = ["--record-hooks", str(path), "-k", "lacks or parted or behind or away", *FILES]
    assert outcome(site, *given(site), *chosen)[0] == 0
    recorded, lab = (yaml.safe_load(each.read_text()) for each in (path, TESTS / "lab/juju/hooks.yaml"))
    assert recorded.keys() == lab.keys()
    assert recorded["deployed"].keys() == lab["deployed"].keys()
    first = recorded["deployed"]["nic-firmware"]
    assert first[: first.index("start") + 1] == uniter.of_a_new_unit(["reboot", "juju-info"], leads=True)
    parted = recorded["changes"]["hosts and fabric are related and parted"]
    met = [f"fabric-{hook}" for hook in ("relation-created", *uniter.MET)]
    assert parted["roce-qos/0"] == [*met, *uniter.of_a_removed_relation("fabric", 1)] * 2
    removed = recorded["changes"]["a unit leaves nothing behind and returns[nic-firmware]"]
    assert removed["nic-firmware/0"][-2:] == ["stop", "remove"]
    assert removed["nic-firmware/3"][0] == "install"
    assert (
        recorded["changes"]["removal takes every unit away[cumulus-fabric]"]["cumulus-fabric/0"][-1]
        == "remove"
    )
    assert "Juju 4.0.15" in path.read_text()
    assert "update-status" not in str(recorded)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAILS)
def test_a_fault_is_noticed(site: Path, fault: str) -> None:
    status, said = outcome(site, *given(site), "-x", "-k", FAILS[fault], *FILES, SIMULATED=fault)
    assert status == 1, said
    assert "1 failed" in said
