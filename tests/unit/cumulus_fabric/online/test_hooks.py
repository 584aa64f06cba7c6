# SPDX-License-Identifier: Apache-2.0
"""How often a unit asks the switches until it has started."""

import pytest
from lab.nvue import Certificate
from unit.cumulus_fabric.online.unit import site
from unit.hooks import observing, of_a_new_unit


def test_a_new_unit_asks_the_switches_when_it_has_its_options_and_when_it_starts(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with site(certificate, monkeypatch, applied=True) as unit:
        assert observing(unit, of_a_new_unit(unit.state)) == ["config_changed", "start"]
        assert unit.state.unit_status.name == "active"
