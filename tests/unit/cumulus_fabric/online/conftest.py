# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.nvue import Certificate, Server, SimulatedTime, Switch
from lab.nvue.fixtures import certificate, other_certificate
from rest.client import PORT
from rest.connection import Access, Credentials
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.shell import ADDRESSES, Shell
from unit.cumulus_fabric.online.site import PASSWORD, Rack, rack
from unit.cumulus_fabric.online.small import PLAIN, RELEASES
from unit.cumulus_fabric.online.unit import Unit, managed, site

__all__ = ["certificate", "other_certificate"]


@pytest.fixture(autouse=True, scope="session")
def no_proxies() -> Iterator[None]:
    """The simulated switches are on this machine, whatever its way to others."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTPS_PROXY", "https_proxy"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The operator's own folder, where the command line keeps what switches ran."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def time() -> SimulatedTime:
    return SimulatedTime()


@pytest.fixture
def server(certificate: Certificate, other_certificate: Certificate, time: SimulatedTime) -> Iterator[Server]:
    switch = Switch("leaf", pace=1.0, clock=time)
    with Server(switch, certificate, password=PASSWORD, other=other_certificate) as server:
        yield server


@pytest.fixture
def access(certificate: Certificate, time: SimulatedTime) -> Access:
    return Access(Credentials("cumulus", PASSWORD), ca=certificate.pem, clock=time)


@pytest.fixture
def fresh(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unit]:
    """Switches as they come."""
    with site(certificate, monkeypatch) as unit:
        yield unit


@pytest.fixture
def running(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unit]:
    """Switches that run the intent, as the command line has applied it."""
    with site(certificate, monkeypatch, applied=True) as unit:
        yield unit


@pytest.fixture(params=["5.9.2", "5.15.0"])
def six(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """The reference guide's fabric."""
    with rack(fabric(), applied=True, release=request.param) as made:
        yield made


@pytest.fixture(params=RELEASES)
def three(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """One spine and two leaves that run the intent."""
    with rack(PLAIN, applied=True, release=request.param) as made:
        yield made


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    names = tuple(f"IP:{each}" for each in ADDRESSES.values())
    return Certificate.make(tmp_path_factory.mktemp("authority"), names=names)


@pytest.fixture
def shell(tmp_path: Path, authority: Certificate, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """Three switches as they come from the factory."""
    at = {name: (address, PORT) for name, address in ADDRESSES.items()}
    with rack(fabric(change=managed), authority, at=at) as made:
        yield Shell(tmp_path, authority.certificate, made, capsys)
