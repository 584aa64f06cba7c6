# SPDX-License-Identifier: Apache-2.0
"""A host that leaves or comes gives no other host another number, unless the intent says so by name."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from converge import Severity
from intent import expand, numbers, schema
from lab.nvue import merge
from online import Site
from unit.cumulus_fabric.fabrics import data, fabric
from unit.cumulus_fabric.online.site import Rack, rack, taking_over
from unit.cumulus_fabric.online.small import small


def three_hosts(content: dict[str, Any]) -> None:
    small(content)
    content["racks"] = [{"hosts": "swp9-11"}]


def with_hosts(hosts: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        small(content)
        content["racks"] = [{"hosts": hosts}]

    return change


@pytest.fixture(params=["5.9.2", "5.15.0"])
def running(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """One spine and two leaves with three hosts, which run the intent."""
    with rack(fabric(change=three_hosts), applied=True, release=request.param) as made:
        yield made


def blocked(site: Site) -> list[tuple[str, str, str]]:
    plan = site.survey().plan
    return [(f.subject, f.what, f.remedy) for f in plan.findings if f.severity is Severity.BLOCKED]


def test_a_first_host_that_leaves_would_renumber_the_others(running: Rack) -> None:
    site = taking_over(fabric(change=with_hosts("swp10-11")), running)
    assert blocked(site) == [
        (
            leaf,
            "hosts would get other numbers, by which the leaves tell them apart: "
            "swp10 from bond2 (local-id 2) to bond1, swp11 from bond3 (local-id 3) to bond2",
            "fix the numbers in the intent; run pipx run tox -qq -e fabric -- fix-numbers --intent FILE "
            f"--keep {leaf}:swp10=2,swp11=3 > NEW-FILE",
        )
        for leaf in ("Leaf0-1", "Leaf0-2")
    ]
    report = site.apply()
    assert (report.applied, report.verdict) == (False, "nothing was sent to any switch")
    assert running.writes() == []


def test_the_command_in_the_remedy_makes_it_a_change_of_one_host(running: Rack) -> None:
    content = data()
    with_hosts("swp10-11")(content)
    text = yaml.safe_dump(content)
    site = taking_over(expand.expand(schema.parse(text)), running)
    (_, _, remedy), _ = blocked(site)
    leaf, _, ports = remedy.split("--keep ")[1].removesuffix(" > NEW-FILE").partition(":")
    keep = {port: int(number) for port, number in (item.split("=") for item in ports.split(","))}
    fixed = expand.expand(schema.parse(numbers.fixed(text, site.fabric, {leaf: keep})))
    site = taking_over(fixed, running)
    before = {name: tree["interface"] for name, tree in running.applied.items()}
    assert not site.apply().applied  # the host is still up
    assert site.apply(cut_off=["bond1"]).applied
    for name in ("Leaf0-1", "Leaf0-2"):
        left = {"bond1", "swp9"}
        assert set(before[name]) - set(running.applied[name]["interface"]) <= left
        for port in set(before[name]) - left:
            assert running.applied[name]["interface"][port] == before[name][port]
    assert site.survey().plan.empty


@pytest.mark.parametrize(
    "hosts",
    [
        "swp9-10",
        "swp9-12",
        "swp9,swp12,swp11",
        {"members": {"a": {"port": "swp11", "local-id": 3}, "b": {"port": "swp12", "local-id": 1}}},
        {"members": {"a": {"port": "swp10", "local-id": 1}}},
    ],
    ids=["the last one leaves", "one comes", "another port", "named", "named with another number"],
)
def test_what_renumbers_nobody_or_by_name_is_planned(running: Rack, hosts: Any) -> None:
    site = taking_over(fabric(change=with_hosts(hosts)), running)
    assert blocked(site) == []
    assert not site.survey().plan.empty


def test_a_number_that_was_changed_on_the_switch_is_set_right(running: Rack) -> None:
    """The host's bond is the one of the intent: that is drift, which an apply corrects."""
    box = running.servers["Leaf0-1"].switch
    revision = box.revisions[box.applied_id]
    drift = {"bond1": {"evpn": {"multihoming": {"segment": {"local-id": 77}}}}}
    revision.tree = merge(revision.tree, {"interface": drift})
    assert blocked(running.site) == []
    assert running.site.apply().applied
    assert running.site.survey().plan.empty
