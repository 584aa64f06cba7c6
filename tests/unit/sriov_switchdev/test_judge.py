# SPDX-License-Identifier: Apache-2.0
"""The differences of a NIC, judged from plain values."""

import pytest
from desired import Desired, WantedPort
from hostnic.devices import discover
from hostnic.devices.lag import Lag
from hostnic.devices.model import Host
from lab.modelled import FakeHost
from lab.modelled.states import converged
from nic.judge import Nic, VfLag, joined
from observed import Observed

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
SLOT = "0000:3b:00"
YES, NO, UNTOLD = Lag(True, "switchdev"), Lag(False), Lag(None)
NONE_OFFERED = Lag(False, unsupported=True)
WANTED = Desired(
    (WantedPort(P0, "enp59s0f0np0", 2, "bond0", True), WantedPort(P1, "enp59s0f1np1", 2, "bond0", True))
)


def judged(*lags: Lag, wanted: Desired = WANTED) -> Nic:
    """A converged NIC whose ports tell this of VF-LAG; the second port is gone where only one does."""
    seen: Host = discover.observe(converged(FakeHost()))
    pfs = tuple(pf._replace(lag=lag) for pf, lag in zip(seen.pfs, lags, strict=False))
    (nic,) = joined(wanted, Observed(seen._replace(pfs=pfs)))
    return nic


@pytest.mark.parametrize(
    ("lags", "expected", "said"),
    [
        ((YES, YES), VfLag.ACTIVE, []),
        ((YES, UNTOLD), VfLag.ACTIVE, []),
        ((NO, YES), VfLag.MISSING, [SLOT]),
        ((UNTOLD, NO), VfLag.MISSING, [SLOT]),
        ((NO, NONE_OFFERED), VfLag.IMPOSSIBLE, [SLOT]),
        ((UNTOLD, UNTOLD), VfLag.UNKNOWN, [P0, P1]),
        ((NO,), VfLag.APART, []),
        ((YES,), VfLag.ACTIVE, []),
    ],
)
def test_vf_lag_is_one_thing_of_a_nic(lags: tuple[Lag, ...], expected: VfLag, said: list[str]) -> None:
    nic = judged(*lags)
    assert nic.lag is expected
    assert [each.subject for each in nic.differences if each.about == "vf_lag"] == said


def test_vf_lag_that_is_not_declared_is_not_judged() -> None:
    ports = tuple(port._replace(lag=False) for port in WANTED.ports)
    assert judged(NO, NO, wanted=Desired(ports)).lag is VfLag.NONE
