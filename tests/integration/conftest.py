# SPDX-License-Identifier: Apache-2.0
"""What a deployment needs: a Juju controller that answers, and packed charms. Without, tests are skipped.

JUJU_MAAS_CLOUD names a MAAS cloud of that controller; the whole bundle is deployed there. Who names one wants
that deployment: what it needs and is not there is a failure then.
"""

import asyncio
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from juju.controller import Controller

ROOT = Path(__file__).parents[2]
ANSWER = 20
"""Seconds for the controller to answer."""


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-operator make its models on the MAAS cloud, if one is named."""
    if os.environ.get("JUJU_MAAS_CLOUD"):
        config.option.cloud = os.environ["JUJU_MAAS_CLOUD"]


def _not_there(what: str) -> NoReturn:
    """End the test, which cannot run."""
    if os.environ.get("JUJU_MAAS_CLOUD"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


async def _cloud_types() -> dict[str, str]:
    """Each cloud of the controller and its type."""
    controller = Controller()
    await controller.connect()
    try:
        return {
            name.removeprefix("cloud-"): cloud.type_
            for name, cloud in (await controller.clouds()).clouds.items()
        }
    finally:
        await controller.disconnect()


@pytest.fixture(scope="session", autouse=True)
def clouds() -> dict[str, str]:
    """End everything where no controller can be reached; pytest-operator would fail in the middle."""
    if shutil.which("juju") is None:
        _not_there("No juju client is installed on this machine.")
    try:
        return asyncio.run(asyncio.wait_for(_cloud_types(), ANSWER))
    except Exception as error:  # python-libjuju lets through whatever its parts raise
        _not_there(f"No Juju controller can be reached ({type(error).__name__}: {error}).")


@pytest.fixture(scope="session")
def maas(clouds: dict[str, str]) -> str:
    """The MAAS cloud that the environment names."""
    name = os.environ.get("JUJU_MAAS_CLOUD")
    if not name:
        pytest.skip("JUJU_MAAS_CLOUD names no MAAS cloud of the controller.")
    if clouds.get(name) != "maas":
        _not_there(f"JUJU_MAAS_CLOUD is {name}, but the controller's clouds are {clouds}.")
    return name


@pytest.fixture(scope="session")
def charms() -> dict[str, Path]:
    """The packed charms for jammy, by name; all of this repository."""
    names = [path.parent.name for path in ROOT.glob("charms/*/charmcraft.yaml")]
    found = {name: ROOT / f"build/{name}_ubuntu@22.04-amd64.charm" for name in names}
    missing = sorted(name for name, path in found.items() if not path.exists())
    if missing:
        _not_there(f"Not packed: {', '.join(missing)}; run tox -e pack first.")
    return found


@pytest.fixture(scope="session")
def charm(charms: dict[str, Path]) -> Path:
    """sriov-switchdev, packed."""
    return charms["sriov-switchdev"]
