# SPDX-License-Identifier: Apache-2.0
"""The real kernel with the virtual card, and the model that unit tests use: alike, line by line."""

from lab import site
from lab.guest import Guest
from lab.modelled import FakeHost, contract_dcb

PYTHON = "env PYTHONPATH=/opt/ovn-offload/lib:/opt/ovn-offload/tests:/opt/site-packages python3"


def test_the_model_does_as_the_card_does(machine: Guest) -> None:
    assert site.reachable(machine, 120), "the site's network never came up"
    done = machine.run(f"{PYTHON} -m lab.modelled.contract_dcb", timeout=300)
    assert contract_dcb.on_model(FakeHost()) == done.stdout.splitlines()
