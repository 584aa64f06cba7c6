# SPDX-License-Identifier: Apache-2.0
"""A switch that folds its configuration into ranges runs the intent all the same."""

from typing import Any

import pytest
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import rack


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
