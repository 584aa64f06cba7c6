# SPDX-License-Identifier: Apache-2.0
"""From the previous revision and back to it, one charm after the other, in both orders (--previous).

It goes on with the model of test_charms.py, where the charms are of this revision: the way back comes first.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from integration.deployment import Deployment, gone
from integration.said import CHARMS, HOST_CHARMS, read

ORDERS = {"documented": CHARMS, "reverse": CHARMS[::-1]}
LOADED = "systemctl list-units --all --plain --no-legend --state=failed 'ovn-offload-*'"


def refresh(deployment: Deployment, order: Sequence[str], artifacts: dict[str, Path]) -> None:
    """Refresh in this order; half-way, charms of both revisions work side by side."""
    for number, charm in enumerate(order):
        deployment.refresh(charm, artifacts[charm])
        if number == len(order) // 2 - 1:
            assert_at_work(deployment)
    assert_at_work(deployment)


def assert_at_work(deployment: Deployment) -> None:
    """Each unit answers, none is in error, no systemd unit failed; the wording may be another revision's."""
    for charm in CHARMS:
        status, said = deployment.juju.status(), read(charm)
        units = status.get_units(charm)
        assert len(units) == deployment.count(charm)
        assert {unit.workload_status.current for unit in units.values()} == {said.status}
        if charm in HOST_CHARMS:
            assert deployment.act(deployment.leader(charm), "verify", {"format": "json"}).succeeded
    for machine in sorted(deployment.juju.status().machines):
        assert deployment.on_machine(machine, LOADED) == ""


@pytest.mark.parametrize("order", ORDERS)
def test_back_and_forth(
    deployment: Deployment, charms: dict[str, Path], previous: dict[str, Path], order: str
) -> None:
    refresh(deployment, ORDERS[order][::-1], previous)
    refresh(deployment, ORDERS[order], charms)
    for charm in CHARMS:
        deployment.settles(read(charm))


@pytest.mark.parametrize("charm", CHARMS)
def test_removal_takes_every_unit_away(deployment: Deployment, charm: str) -> None:
    """Last, since nothing is left then."""
    deployment.juju.remove_application(charm)
    deployment.juju.wait(lambda status: gone(status, charm) and charm not in status.apps)
    assert deployment.left_by(charm) == {}
