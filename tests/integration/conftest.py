# SPDX-License-Identifier: Apache-2.0
"""What a deployment needs: a Juju controller that answers, and packed charms. Without them, tests say so."""

import asyncio
import shutil
from pathlib import Path

import pytest
from juju.controller import Controller

ROOT = Path(__file__).parents[2]
ANSWER = 20
"""Seconds for the controller to answer."""


async def _connect() -> None:
    controller = Controller()
    await controller.connect()
    await controller.disconnect()


@pytest.fixture(scope="session", autouse=True)
def controller() -> None:
    """Skip everything where no controller can be reached; pytest-operator would fail in the middle."""
    if shutil.which("juju") is None:
        pytest.skip("No juju client is installed on this machine.")
    try:
        asyncio.run(asyncio.wait_for(_connect(), ANSWER))
    except Exception as error:  # python-libjuju lets through whatever its parts raise
        pytest.skip(f"No Juju controller can be reached ({type(error).__name__}: {error}).")


@pytest.fixture(scope="session")
def charm() -> Path:
    """The packed charm for nova-compute's base."""
    path = ROOT / "build/sriov-switchdev_ubuntu@22.04-amd64.charm"
    if not path.exists():
        pytest.skip("The charm is not packed: run tox -e pack first.")
    return path
