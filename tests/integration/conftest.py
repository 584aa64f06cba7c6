# SPDX-License-Identifier: Apache-2.0
"""The needs of a deployment: a Juju controller that answers, and packed charms. Without, tests are skipped.

A run in which no test ran fails, unless --allow-nothing asks for it. JUJU_MAAS_CLOUD names a MAAS cloud of
the controller; the whole bundle is deployed there. Who names one wants that deployment: then it is a failure
if something that it needs is not there.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

ROOT = Path(__file__).parents[2]
ANSWER = 60
"""Seconds for the controller to answer."""

MACHINES = 3
BASE = "ubuntu@22.04-amd64"
RAN: list[str] = []
NOTHING = (
    "Nothing was tested: every test was skipped. The reasons are above; --allow-nothing lets such a run pass."
)


class Controller(NamedTuple):
    """The current controller: its name, its agents' version, and its clouds with their types."""

    name: str
    version: str
    clouds: dict[str, str]


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-operator make its models on the MAAS cloud, if one is named."""
    if os.environ.get("JUJU_MAAS_CLOUD"):
        config.option.cloud = os.environ["JUJU_MAAS_CLOUD"]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and not report.skipped:
        RAN.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if nothing_ran(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if nothing_ran(config):
        terminalreporter.write_line(NOTHING, red=True)


def nothing_ran(config: pytest.Config) -> bool:
    return not (RAN or config.option.allow_nothing or config.option.collectonly)


def _not_there(what: str) -> NoReturn:
    """End the test, which cannot run."""
    if os.environ.get("JUJU_MAAS_CLOUD"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


def _juju(*words: str) -> Any:
    command = ["juju", *words, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER, check=True)
    return json.loads(done.stdout or "{}")


@pytest.fixture(scope="session", autouse=True)
def controller() -> Controller:
    """The current controller; without one nothing can run."""
    if shutil.which("juju") is None:
        _not_there("No juju client is installed on this machine.")
    try:
        ((name, shown),) = _juju("show-controller").items()
        clouds = _juju("clouds", "--controller", name)
    except subprocess.CalledProcessError as error:
        _not_there(f"No Juju controller can be reached: {error.stderr.strip() or error}")
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        _not_there(f"No Juju controller can be reached ({type(error).__name__}: {error}).")
    types = {cloud: known["type"] for cloud, known in clouds.items()}
    return Controller(name, shown["details"]["agent-version"], types)


@pytest.fixture(scope="session")
def libjuju(controller: Controller) -> None:
    """For tests that use pytest-operator."""
    if int(controller.version.partition(".")[0]) > 3:
        _not_there(f"python-libjuju does not connect to Juju {controller.version}; test_charms.py does.")


@pytest.fixture(scope="session")
def maas(controller: Controller) -> str:
    """The MAAS cloud that the environment names."""
    name = os.environ.get("JUJU_MAAS_CLOUD")
    if not name:
        pytest.skip("JUJU_MAAS_CLOUD names no MAAS cloud of the controller.")
    if controller.clouds.get(name) != "maas":
        _not_there(f"JUJU_MAAS_CLOUD is {name}, but the controller's clouds are {controller.clouds}.")
    return name


def packed(folder: Path) -> dict[str, Path]:
    """The packed charms in a folder, by name; the test ends if one is missing. Folders begin at the root."""
    names = [path.parent.name for path in ROOT.glob("charms/*/charmcraft.yaml")]
    found = {name: folder / f"{name}_{BASE}.charm" for name in names}
    missing = sorted(name for name, path in found.items() if not path.exists())
    if missing:
        _not_there(f"Not packed: {', '.join(missing)} in {folder}; run tox -e pack first.")
    return found


@pytest.fixture(scope="session")
def charms(request: pytest.FixtureRequest) -> dict[str, Path]:
    """The packed charms for jammy, by name; all of this repository."""
    return packed(ROOT / (request.config.getoption("--charms") or "build"))


@pytest.fixture(scope="session")
def previous(request: pytest.FixtureRequest) -> dict[str, Path]:
    """The packed charms of the previous revision."""
    folder = request.config.getoption("--previous")
    if not folder:
        pytest.skip("--previous names no folder with the charms of the previous revision.")
    return packed(ROOT / folder)


@pytest.fixture(scope="session")
def principal(request: pytest.FixtureRequest) -> Path | str:
    """The charm that the host charms are subordinate to: a file, or Charmhub's ubuntu."""
    given = request.config.getoption("--principal")
    if given and not (ROOT / given).is_file():
        pytest.fail(f"--principal {given} is not a file; name a packed charm.", pytrace=False)
    return ROOT / given if given else "ubuntu"


@pytest.fixture(scope="session")
def deployment(
    request: pytest.FixtureRequest,
    controller: Controller,
    charms: dict[str, Path],
    principal: Path | str,
) -> Iterator[Any]:
    """The four charms on three machines, in a model of their own; all tests with Jubilant share it."""
    import jubilant
    from integration.deployment import Deployment

    config = {"automatically-retry-hooks": False, "update-status-hook-interval": "1m"}
    with jubilant.temp_model(
        keep=request.config.getoption("--keep-model"), controller=controller.name, config=config
    ) as juju:
        made = Deployment(juju, MACHINES)
        constraints = dict(word.split("=", 1) for word in request.config.getoption("--constraints").split())
        made.deploy(principal, charms, constraints)
        yield made
        if request.session.testsfailed:
            print(juju.debug_log(limit=1000))


@pytest.fixture(scope="session")
def recording(request: pytest.FixtureRequest, controller: Controller) -> Any:
    """Where the hooks of all units are noted; None without --record-hooks."""
    given = request.config.getoption("--record-hooks")
    if not given:
        return None
    from integration.recorded import Recording

    return Recording(ROOT / given, controller.version)


@pytest.fixture(autouse=True)
def recorded(request: pytest.FixtureRequest, recording: Any) -> Iterator[None]:
    """Note which hooks a test's changes led to; those of the first tests are the deployment's."""
    if recording is None or "deployment" not in request.fixturenames:
        yield
        return
    deployment = request.getfixturevalue("deployment")
    yield
    deploys = request.node.originalname == "test_each_unit_says_what_it_lacks"
    name = request.node.name.removeprefix("test_").replace("_", " ")
    recording.note(deployment, "" if deploys else name)
