# SPDX-License-Identifier: Apache-2.0
"""The first `plan` after `juju deploy cumulus-fabric`: it succeeds, or says the one thing to do."""

from typing import Any

from unit.cumulus_fabric.online.unit import Unit, intent


def without_addresses(content: dict[str, Any]) -> None:
    for switches in ("spines", "leaves"):
        del content[switches]["management"]


def test_each_plan_names_what_is_missing_until_it_succeeds(fresh: Unit) -> None:
    given = dict(fresh.state.config)
    fresh.configure(intent=None, credentials=None, ca_certificate=None)
    assert fresh.failure("plan") == (
        "option intent: is not set, and no resource is attached; run: juju config cumulus-fabric intent=@FILE"
    )
    fresh.configure(intent=intent(without_addresses))
    assert fresh.failure("plan") == (
        "Spine0: has no management address; "
        "set spines.management and leaves.management, or switches.<name>.management"
    )
    fresh.configure(intent=given["intent"])
    assert fresh.failure("plan") == (
        "option credentials: is not set; "
        "run: juju config cumulus-fabric credentials=ID; ID is that of a secret with user and password"
    )
    fresh.configure(credentials=given["credentials"])
    assert fresh.action("plan")["plan"].count("set ca-certificate to the authority that signed it") == 3
    fresh.configure(ca_certificate=given["ca-certificate"])
    assert "Spine0: BGP: set BGP in VRF default" in fresh.action("plan")["plan"]
    assert fresh.writes == []
