# SPDX-License-Identifier: Apache-2.0
import pytest
from hostnic.firmware.mstdatabase import Database, read
from lab.modelled import FakeHost
from lab.mstdb import build
from unit.nic_firmware.node import Node, machine


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """The database of a release of mstflint."""
    return read(str(build(tmp_path_factory.mktemp("mst") / "mlxconfig_host.db")))


@pytest.fixture
def host() -> FakeHost:
    """A compute node whose NIC has its factory settings: no SR-IOV."""
    return machine()


@pytest.fixture
def node(host: FakeHost, database: Database, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A unit of the charm on it."""
    return Node(host, database, monkeypatch)
