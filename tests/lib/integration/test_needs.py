# SPDX-License-Identifier: Apache-2.0
"""A deployment that lacks what it needs is skipped, but fails where JUJU_MAAS_CLOUD says it is wanted."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "integration/conftest.py"
JUJU = """#!/bin/sh
case "$1 $CLOUDS" in
"show-controller ") echo 'ERROR No controllers registered.' >&2; exit 1 ;;
show-controller*) echo '{"test": {"details": {"agent-version": "'$VERSION'"}}}' ;;
clouds*) echo '{"site": {"type": "'$CLOUDS'"}}' ;;
esac
"""
TESTS = """
def test_deploy(charms):
    pass

def test_bundle(maas, libjuju, charms):
    pass
"""


def outcome(
    home: Path,
    *options: str,
    cloud: str,
    clouds: str = "maas",
    packed: bool = True,
    version: str = "3.6.11",
) -> tuple[int, str]:
    """The exit status and the last line of a run on a site whose controller has one cloud, of this type."""
    tests = home / "tests/integration"
    for directory in (tests, home / "bin", home / "charms/one", home / "build"):
        directory.mkdir(parents=True)
    shutil.copy(CONFTEST, tests)
    (tests / "test_site.py").write_text(TESTS)
    (home / "bin/juju").write_text(JUJU)
    (home / "bin/juju").chmod(0o755)
    (home / "charms/one/charmcraft.yaml").touch()
    if packed:
        (home / "build/one_ubuntu@22.04-amd64.charm").touch()
    environment = os.environ | {
        "JUJU_MAAS_CLOUD": cloud,
        "CLOUDS": clouds,
        "VERSION": version,
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(CONFTEST.parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "integration.options",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(home),
    ]
    run = subprocess.run(
        [*command, *options, str(tests)],
        cwd=home,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    return run.returncode, re.sub(r" in [\d.]+s.*", "", run.stdout.splitlines()[-1])


def test_all_that_is_needed_is_there(tmp_path: Path) -> None:
    assert outcome(tmp_path, cloud="site") == (0, "2 passed")


def test_without_a_named_cloud_what_cannot_run_is_skipped(tmp_path: Path) -> None:
    assert outcome(tmp_path, cloud="") == (0, "1 passed, 1 skipped")


@pytest.mark.parametrize("site", [{"clouds": ""}, {"packed": False}], ids=["no controller", "not packed"])
def test_a_run_in_which_nothing_ran_fails_unless_that_is_asked_for(
    tmp_path: Path, site: dict[str, str]
) -> None:
    assert outcome(tmp_path / "a", cloud="", **site) == (1, "2 skipped")
    assert outcome(tmp_path / "b", "--allow-nothing", cloud="", **site) == (0, "2 skipped")
    assert outcome(tmp_path / "c", "--collect-only", cloud="", **site)[0] == 0


def test_what_needs_python_libjuju_does_not_run_on_juju_4(tmp_path: Path) -> None:
    assert outcome(tmp_path / "a", cloud="", version="4.0.15") == (0, "1 passed, 1 skipped")
    assert outcome(tmp_path / "b", cloud="site", version="4.0.15") == (1, "1 passed, 1 error")


@pytest.mark.parametrize(
    ("site", "said"),
    [
        pytest.param({"clouds": ""}, "2 errors", id="no controller answers"),
        pytest.param({"clouds": "lxd"}, "1 passed, 1 error", id="the cloud is no MAAS"),
        pytest.param({"packed": False}, "2 errors", id="charms are not packed"),
    ],
)
def test_with_a_named_cloud_the_run_fails(tmp_path: Path, site: dict[str, str], said: str) -> None:
    assert outcome(tmp_path, cloud="site", **site) == (1, said)
