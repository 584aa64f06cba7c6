# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest
from lab.nvue import Certificate, Server, SimulatedTime, Switch
from lab.nvue.caller import PACE, Caller
from lab.nvue.fixtures import certificate, other_certificate

__all__ = ["certificate", "other_certificate"]


@pytest.fixture
def time() -> SimulatedTime:
    return SimulatedTime()


@pytest.fixture
def switch(time: SimulatedTime) -> Switch:
    return Switch("leaf0-1", pace=PACE, clock=time)


@pytest.fixture
def server(switch: Switch, certificate: Certificate, other_certificate: Certificate) -> Iterator[Server]:
    with Server(switch, certificate, other=other_certificate) as server:
        yield server


@pytest.fixture
def call(server: Server, certificate: Certificate) -> Caller:
    return Caller(server, certificate)
