# SPDX-License-Identifier: Apache-2.0
"""The report of cables: what is at each port, before the hosts are there and after."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cables.judged import State
from cables.read import read
from cables.rows import Cable, cables
from lab.nvue import Fault
from lab.nvue.fabric import HostPort
from output.cables import as_json, as_table, well
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import Rack, rack

LEAF = "Leaf0-1"
NAMED = fabric(change={"racks.0.hosts": {"ports": "swp9-10", "names": ["node1", "node2"]}})
MODULE = {"identifier": "QSFP28", "vendor-name": "Mellanox", "vendor-pn": "MCP1600-C001E30"}


@pytest.fixture(params=["5.9.2", "5.15.0"])
def six(request: pytest.FixtureRequest) -> Iterator[Rack]:
    with rack(NAMED, release=request.param, applied=True) as made:
        yield made


def rows(six: Rack) -> dict[str, Cable]:
    """The rows by switch and port."""
    found = cables(six.fabric, *read(six.site.fleet, six.fabric, six.site.names))
    return {f"{each.switch} {each.port}".strip(): each for each in found}


def test_all_cables_of_the_intent_are_there(six: Rack) -> None:
    found = rows(six)
    assert {each.state for each in found.values()} == {State.OK}
    assert found["Leaf0-1 swp31"][2:4] == ("Spine0 swp13", "Spine0 swp13")
    assert found["Leaf0-1 swp9"].seen.startswith("node1")
    assert well(list(found.values()))


def test_a_report_asks_for_the_mac_table_only_where_a_host_is_silent(six: Rack) -> None:
    six.forget()
    rows(six)
    before = len(six.calls("Leaf0-1"))
    six.wires.hosts["Leaf0-1", "swp9"].speaks = False
    six.forget()
    assert rows(six)["Leaf0-1 swp9"][3:5] == ("MAC b8:3f:d2:00:00:01", State.SILENT)
    assert (before, len(six.calls("Leaf0-1"))) == (2, 3)
    assert six.writes() == []


def test_before_the_hosts_are_there_their_ports_have_no_link_and_show_their_modules(six: Rack) -> None:
    six.wires.modules["Leaf0-1", "swp9"] = MODULE
    six.wires.cut |= {("Leaf0-1", "swp9"), ("Leaf0-2", "swp9")}
    found = rows(six)
    assert found["Leaf0-1 swp9"] == Cable(
        "Leaf0-1", "swp9", "node1", "", State.NO_LINK, "QSFP28 Mellanox MCP1600-C001E30", ""
    )
    assert found["Leaf0-2 swp9"].module == ""
    assert found["Leaf0-1 swp10"].link == "100G, FEC rs"


def test_a_cable_in_another_port_is_wrong_and_where_it_should_be_is_seen(six: Rack) -> None:
    for port in ("swp31", "swp32"):
        del six.wires.cables["Leaf0-1", port]
    for spine, port in (("Spine0", "swp32"), ("Spine1", "swp31")):
        six.wires.cable(("Leaf0-1", port), (spine, "swp13"))
    found = rows(six)
    assert found["Leaf0-1 swp31"][2:5] == ("Spine0 swp13", "Spine1 swp13", State.WRONG)
    assert found["Spine0 swp13"][2:5] == ("Leaf0-1 swp31", "Leaf0-1 swp32", State.WRONG)
    assert not well(list(found.values()))


def test_another_host_of_the_intent_is_wrong_and_one_that_it_does_not_have_is_unknown(six: Rack) -> None:
    six.wires.hosts["Leaf0-1", "swp9"].host = "node2"
    six.wires.hosts["Leaf0-1", "swp10"].host = "maas-enlisting-node"
    found = rows(six)
    assert found["Leaf0-1 swp9"].state is State.WRONG
    assert found["Leaf0-1 swp10"].state is State.UNKNOWN


def other_spine(six: Rack) -> None:
    for port in ("swp31", "swp32"):
        del six.wires.cables[LEAF, port]
    for spine, port in (("Spine0", "swp32"), ("Spine1", "swp31")):
        six.wires.cable((LEAF, port), (spine, "swp13"))


def other_host(six: Rack) -> None:
    six.wires.hosts[LEAF, "swp9"].host = "node2"


def installer(six: Rack) -> None:
    six.wires.hosts[LEAF, "swp9"].host = "maas-enlisting-node"


def switch_at_a_host_without_a_name(six: Rack) -> None:
    six.wires.hosts["Leaf1-1", "swp9"].host = "Spine1"


def unnamed_switch_beside_a_wrong_one(six: Rack) -> None:
    """As a hub between them, or a name that has not aged out."""
    member = six.wires.members[LEAF]
    shown = member._lldp

    def two(port: str) -> dict[str, Any]:
        here = {"chassis": {"system-name": "cumulus"}, "port": {"name": "swp13", "type": "ifname"}}
        there = {"chassis": {"system-name": "Spine1"}, "port": {"name": "swp14", "type": "ifname"}}
        return {"cumulus": here, "Spine1": there} if port == "swp31" else shown(port)

    member._lldp = two


@pytest.mark.parametrize(
    ("wiring", "port", "state"),
    [
        (other_spine, f"{LEAF} swp31", State.WRONG),
        (other_host, f"{LEAF} swp9", State.WRONG),
        (installer, f"{LEAF} swp9", State.UNKNOWN),
        (switch_at_a_host_without_a_name, "Leaf1-1 swp9", State.WRONG),
        (unnamed_switch_beside_a_wrong_one, f"{LEAF} swp31", State.WRONG),
    ],
)
def test_verify_judges_a_cable_as_the_report_does(
    six: Rack, wiring: Callable[[Rack], None], port: str, state: State
) -> None:
    wiring(six)
    found = rows(six)
    assert found[port].state is state
    wrong = {each for each, row in found.items() if row.state is State.WRONG}
    said = {each.subject for each in six.site.verify() if each.what.startswith("is wired to ")}
    assert said == wrong


def test_a_neighbour_at_a_port_that_the_intent_does_not_use_is_extra(six: Rack) -> None:
    six.wires.host(("Leaf1-1", "swp20"), HostPort("printer", "b8:3f:d2:00:00:09"))
    six.wires.members["Leaf1-1"].tree["interface"]["swp20"] = {"type": "swp"}
    assert rows(six)["Leaf1-1 swp20"][2:5] == ("", "printer", State.EXTRA)


def test_a_port_that_is_shut_on_purpose_is_not_missed() -> None:
    shut = fabric(change={"leaves.port-settings": {"swp10": {"shut": True}}})
    with rack(shut, applied=True) as made:
        assert rows(made)["Leaf0-1 swp10"].state is State.SHUT


def test_a_switch_that_does_not_answer_hides_no_other(six: Rack) -> None:
    six.servers["Leaf0-2"].inject(Fault("hang", times=0))
    found = rows(six)
    assert found["Leaf0-2"].state is State.NOT_READ
    assert found["Leaf0-2"].seen
    assert found["Leaf0-1 swp31"].state is State.OK
    assert found["Spine0 swp14"][2:5] == ("Leaf0-2 swp31", "Leaf0-2 swp31", State.OK)


def test_a_switch_without_the_numbers_of_its_modules_shows_the_rest(six: Rack) -> None:
    six.servers["Leaf0-1"].inject(Fault("500", call="GET platform", times=0))
    assert rows(six)["Leaf0-1 swp31"].state is State.OK


def test_what_needs_a_hand_comes_first_in_the_table(six: Rack) -> None:
    six.wires.cut.add(("Leaf1-2", "swp32"))
    found = [*rows(six).values()]
    head, first, second, *_ = as_table(found).splitlines()
    assert head.split() == ["state", "switch", "port", "intent", "seen", "module", "link"]
    assert [line.split()[:4] for line in (first, second)] == [
        ["no", "link", "Spine1", "swp16"],
        ["no", "link", "Leaf1-2", "swp32"],
    ]
    assert as_table(found).endswith(f"2 no link, {len(found) - 2} ok")
    assert as_json(found).startswith('[\n  {\n    "switch": "Spine1"')


def test_the_verb_fails_for_a_wrong_cable_alone(shell: Shell) -> None:
    assert shell("apply")[0] == 0
    shell.rack.wires.cut.add(("Leaf0-1", "swp9"))
    status, out, _ = shell("cables")
    assert (status, out.splitlines()[1].split()[:4]) == (0, ["no", "link", "Leaf0-1", "swp9"])
    shell.rack.wires.hosts["Leaf0-2", "swp9"].host = "Leaf0-1"
    status, out, _ = shell("cables", "--switch", "Leaf0-2", "--format", "json")
    assert status == 1
    assert json.loads(out)[0]["state"] == "wrong"
