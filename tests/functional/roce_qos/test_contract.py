# SPDX-License-Identifier: Apache-2.0
"""The real kernel with the virtual card, and the model that unit tests use: alike, line by line."""

from hostnic.testing import FakeHost, contract_dcb
from lab import site
from lab.guest import Guest

PYTHON = "env PYTHONPATH=/opt/ovn-offload/lib:/opt/site-packages python3"


def test_the_model_does_as_the_card_does(machine: Guest) -> None:
    assert site.reachable(machine, 120), "the site's network never came up"
    done = machine.run(f"{PYTHON} -m hostnic.testing.contract_dcb", timeout=300)
    assert contract_dcb.on_model(FakeHost()) == done.stdout.splitlines()
