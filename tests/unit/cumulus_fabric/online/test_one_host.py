# SPDX-License-Identifier: Apache-2.0
"""A host that comes to a rack in service, and one that goes, as docs/how-to/add-a-node.md has it."""

from collections.abc import Iterator
from typing import Any

import pytest
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack, taking_over

LEAVES = {"Leaf0-1", "Leaf0-2"}


def with_hosts(ports: str) -> Any:
    return fabric(change=lambda content: content["racks"][0].update(hosts=ports))


@pytest.fixture
def two() -> Iterator[Rack]:
    """Switches that run the intent with two hosts in each rack."""
    with rack(with_hosts("swp9-10"), applied=True) as made:
        yield made


def test_a_host_at_the_end_of_its_rack_changes_the_two_leaves_of_the_rack(two: Rack) -> None:
    two.site = taking_over(with_hosts("swp9-11"), two)
    steps = two.site.survey().plan.steps
    assert {step.key.partition(":")[0].partition("/")[0] for step in steps} == LEAVES
    two.forget()
    assert two.site.apply().applied
    assert {line.split()[0] for line in two.writes()} == LEAVES
    assert two.site.survey().plan.empty


def test_a_host_that_is_up_is_not_cut_off_when_it_leaves_the_intent(two: Rack) -> None:
    two.site = taking_over(with_hosts("swp9"), two)
    two.forget()
    report = two.site.apply()
    assert (report.applied, two.writes()) == (False, [])
    assert any("bond2" in each.sentence() for each in report.reasons)


def test_one_that_is_off_leaves_without_being_named(two: Rack) -> None:
    for leaf in LEAVES:
        two.wires.cut.add((leaf, "swp10"))
    two.site = taking_over(with_hosts("swp9"), two)
    two.forget()
    assert two.site.apply().applied
    assert {line.split()[0] for line in two.writes()} == LEAVES
