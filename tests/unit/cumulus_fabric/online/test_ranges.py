# SPDX-License-Identifier: Apache-2.0
"""A switch that folds its configuration into ranges runs the intent all the same."""

import json
from typing import Any

import pytest
from lab.nvue.rest import Reply
from tree import MAX_NODES, expand_ranges, nested
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import rack
from unit.cumulus_fabric.online.small import SMALL


def called_by_node(content: dict[str, Any]) -> None:
    """Bonds whose names are not NVUE's own."""
    content["racks"][0]["hosts"] = {"ports": "swp9-10", "bond": "node{n}"}


@pytest.mark.parametrize("change", [None, called_by_node])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
def test_nothing_is_changed_on_a_switch_that_folds(release: str, strict: bool, change: Any) -> None:
    """Whether it knows ``expand``, ignores it, or refuses it."""
    with rack(fabric(change=change), applied=True, release=release) as rdg:
        for server in rdg.servers.values():
            server.strict = strict
        assert rdg.site.survey().plan.steps == ()
        assert rdg.site.apply().applied
        assert rdg.writes() == []
        assert [each for each in rdg.site.verify() if each.severity > 0] == []
        queries = [call.query for call in rdg.servers["Leaf0-1"].calls if call.name == "read applied"]
        # Who refuses it once is not asked so again.
        refuses = strict and release == "5.9.2"
        assert ["expand" in query for query in queries] == [True, *([False] * 3 if refuses else [True] * 2)]


VLANS = ("bridge", "domain", "br_default", "vlan")
MULTIPLYING: dict[str, dict[str, Any]] = {
    "ranges below ranges": nested(("interface", "swp1-4000", *VLANS, "1-4000"), {}),
    "three levels": nested(("interface", "swp1-4000", *VLANS, "1-4000", "member", "swp1-4000"), {}),
    "a list of ranges": nested(("interface", ",".join(["swp1-4096"] * 3000), "link", "mtu"), 9216),
    "many names that are there already": {
        "interface": {
            "swp1": {"vlan": {str(vlan): {} for vlan in range(20_000)}},
            **{f"swp1,x{number}": {"link": {}} for number in range(200)},
        }
    },
}


@pytest.mark.parametrize("answer", MULTIPLYING.values(), ids=MULTIPLYING)
def test_ranges_that_multiply_are_refused_before_they_are_written_out(answer: dict[str, Any]) -> None:
    """Of one switch in the hands of somebody else some hundred bytes would take the charm's memory."""
    with rack(SMALL, applied=True) as three:
        other = three.servers["Leaf0-2"]
        serve = other.serve

        def serves(method: str, target: str, authorization: str, raw: bytes) -> Reply:
            if method == "GET" and "rev=applied" in target:
                return Reply(200, json.dumps(answer).encode())
            return serve(method, target, authorization, raw)

        other.serve = serves  # type: ignore[method-assign]
        report = three.site.apply()
        assert [each.subject for each in report.reasons] == ["Leaf0-2"]
        said = f"the answer to GET / cannot be read: its ranges make more than {MAX_NODES} names"
        assert report.reasons[0].what == said
        assert three.writes() == []


def test_a_switch_with_each_vlan_on_64_ports_is_read() -> None:
    vlans = expand_ranges(nested(("interface", "swp1-64", *VLANS, "1-4094"), {}))["interface"]
    assert len(vlans) == 64
    assert len(vlans["swp64"]["bridge"]["domain"]["br_default"]["vlan"]) == 4094
