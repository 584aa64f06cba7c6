# SPDX-License-Identifier: Apache-2.0
"""Hosts keep their numbers: named with a local-id of their own, and converted from a list by a command."""

import json
from typing import Any

import pytest
import yaml
from converge.shape import InvalidValue
from intent import expand, numbers, schema
from intent.model import Dialect, Fabric
from tree import render
from unit.cumulus_fabric.fabrics import data, fabric, text
from yamlfile.values import FileError


def expanded(intent: str) -> Fabric:
    return expand.read(intent)


def fixed(intent: str, **keep: dict[str, int]) -> str:
    by_leaf = {name.replace("_", "-"): kept for name, kept in keep.items()}
    return numbers.fixed(intent, expanded(intent), by_leaf)


def hosts(content: Any) -> str:
    """The example as text, with these hosts in its first rack."""
    changed = data()
    changed["racks"][0] = {"hosts": content, **{"bonds": changed["racks"][0]["bonds"]}}
    return yaml.safe_dump(changed, sort_keys=False)


def trees(whole: Fabric) -> list[Any]:
    switches = [each for each in whole.switches if each.platform == "cumulus"]
    return [render.tree(whole, each, Dialect.FROM_5_15) for each in switches]


def bonds(intent: str, leaf: str = "Leaf0-1") -> dict[str, tuple[str, int, str]]:
    """By bond, its port, its local-id and its host."""
    found = expanded(intent).switch(leaf)
    assert found
    return {each.name: (each.members[0], each.segment.local_id, each.host) for each in found.bonds}


NAMED = {
    "node7": {"port": "swp10", "local-id": 2},
    "spare": {"port": "swp12", "local-id": 40, "host": "none"},
    "left": {"port": "swp9", "local-id": 1, "host": "node1"},
}


def test_named_hosts_have_their_own_numbers() -> None:
    assert bonds(hosts({"members": NAMED})) == {
        "bond2": ("swp10", 2, "node7"),
        "bond40": ("swp12", 40, ""),
        "bond1": ("swp9", 1, "node1"),
        "bond_ext": ("swp22", 9, ""),
    }


def test_a_host_that_leaves_changes_no_other() -> None:
    gone = {name: member for name, member in NAMED.items() if name != "left"}
    before, after = bonds(hosts({"members": NAMED})), bonds(hosts({"members": gone}))
    assert after == {name: bond for name, bond in before.items() if name != "bond1"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"members": {}}, "racks[0].hosts.members: {} is not allowed; expected a mapping of hosts"),
        (
            {"networks": ["oam"]},
            "racks[0].hosts.ports: an empty value is not allowed; expected either ports or members",
        ),
        (
            {"ports": "swp9", "members": NAMED},
            "racks[0].hosts.ports: 'swp9' is not allowed; expected either ports or members",
        ),
        (
            {"names": ["a"], "members": NAMED},
            "racks[0].hosts.names: ['a'] is not allowed; expected no names beside members, which have theirs",
        ),
        (
            {"members": {"a": {"port": "swp9", "local-id": 1}, "b": {"port": "swp10", "local-id": 1}}},
            "racks[0].hosts.members.b.local-id: 1 is not allowed; expected a local-id that a does not have",
        ),
        (
            {"bond": "rack-host-{n}", "members": {"a": {"port": "swp9", "local-id": 123456}}},
            "racks[0].hosts.members.a.local-id: 123456 is not allowed; "
            "expected a number that makes a bond's name of 15 characters at most",
        ),
        (
            {"members": {"a": {"port": "swp9"}}},
            "racks[0].hosts.members.a.local-id: an empty value is not allowed; "
            "expected a local-id from 1 to 16777215",
        ),
    ],
)
def test_a_wrong_map_is_refused_by_its_path(content: Any, said: str) -> None:
    with pytest.raises(FileError) as refused:
        expanded(hosts(content))
    assert refused.value.what == said


def test_a_name_that_would_be_in_several_racks_is_refused() -> None:
    changed = data("rdg-max")
    changed["racks"][1]["hosts"] = {"members": {"node1": {"port": "swp1", "local-id": 1}}}
    with pytest.raises(InvalidValue, match=r"node1.host: 'node1' is not allowed; expected none where count"):
        expand.expand(schema.INTENT.read("", changed))


@pytest.mark.parametrize("name", ["rdg", "rdg-max", "demartek"])
def test_a_converted_example_describes_the_same_switches(name: str) -> None:
    new = fixed(text(name))
    assert trees(expanded(new)) == trees(fabric(name))
    assert fixed(new) == new


def test_the_rest_of_the_text_stays() -> None:
    old = text("rdg").replace("- hosts: swp9-10", "- hosts: swp9-10   # two", 1)
    new = fixed(old)
    members = [
        "      members:",
        "        bond1: {port: swp9, local-id: 1, host: none}",
        "        bond2: {port: swp10, local-id: 2, host: none}",
    ]
    first = ["  - number: 0", "    hosts:   # two", *members]
    last = ["  - number: 1", "    hosts:", *members]
    lines = new.splitlines()
    start = lines.index(first[0])
    assert lines[start : start + 5] == first
    start = lines.index(last[0])
    assert lines[start : start + 5] == last
    kept = [line for line in lines if line not in (*first, *last)]
    assert kept == [line for line in old.splitlines() if "- hosts:" not in line]


WRITTEN = {
    "as a block": (
        "hosts:\n"
        "      # in front\n"
        "      names: [node1, node2]  # theirs\n"
        "      ports: swp9-10  # two\n"
        "      mtu: 1500\n"
    ),
    "as a block with lists": (
        "hosts:\n"
        "      ports: swp9-10\n"
        "      networks:\n"
        "        - oam\n"
        "      names:\n"
        "        - node1\n"
        "        - node2\n"
    ),
    "in one line": (
        "hosts: {ports: swp9-10, names: [node1, node2], networks: [oam, public], bond: 'h{n}'}  # here\n"
    ),
    "in several lines": "hosts: {ports: swp9-10,\n       names: [node1,\n          node2], mtu: 1500}\n",
    "with quotes": 'hosts: "swp9-10"\n',
    "names that are numbers": "hosts: {ports: swp9-10, names: ['1', 'true']}\n",
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_hosts_are_converted_however_they_are_written(written: str) -> None:
    old = text("rdg").replace("hosts: swp9-10\n", written, 1)
    new = fixed(old)
    assert "ports: swp9-10" not in new
    assert trees(expanded(new)) == trees(expanded(old))
    assert bonds(new) == bonds(old)
    assert [comment for comment in ("# in front", "# two", "# here") if comment in old] == [
        comment for comment in ("# in front", "# two", "# here") if comment in new
    ]


@pytest.mark.parametrize("last", ["- hosts: swp9-10", "- hosts:\n      ports: swp9-10"])
def test_the_last_line_needs_no_end(last: str) -> None:
    old = text("rdg").rstrip().removesuffix("- hosts: swp9-10") + last
    assert trees(expanded(fixed(old))) == trees(fabric())


def test_json_stays_json() -> None:
    old = json.dumps(data())
    new = json.loads(fixed(old))
    assert new["racks"][1] == {
        "number": 1,
        "hosts": {
            "members": {f"bond{n}": {"port": f"swp{n + 8}", "local-id": n, "host": "none"} for n in (1, 2)}
        },
    }


def test_what_cannot_be_rewritten_is_refused() -> None:
    first, rest, last = text("rdg").split("hosts: swp9-10")
    old = f"{first}hosts: &two swp9-10{rest}hosts: *two{last}"
    with pytest.raises(numbers.NumbersError, match=r"cannot be rewritten, such as with an anchor$"):
        fixed(old)


def test_ports_keep_the_numbers_that_they_had() -> None:
    """swp9 has left, and swp7 and swp8 are new; only the rack in question is rewritten."""
    new = fixed(hosts("swp10-11,swp7-8"), Leaf0_2={"swp10": 2, "swp11": 3})
    assert bonds(new) == {
        "bond2": ("swp10", 2, ""),
        "bond3": ("swp11", 3, ""),
        "bond1": ("swp7", 1, ""),
        "bond4": ("swp8", 4, ""),
        "bond_ext": ("swp22", 9, ""),
    }
    assert "hosts: swp9-10" in new


def test_a_new_port_takes_no_number_of_a_bond() -> None:
    new = fixed(hosts("swp1-9"), Leaf0_1={"swp1": 9000})
    assert {name: port for name, (port, _, _) in bonds(new).items()} == {
        "bond9000": "swp1", **{f"bond{n}": f"swp{n}" for n in range(2, 9)},
        "bond1": "swp9", "bond_ext": "swp22",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        ({"Leaf7-1": {"swp9": 1}}, "the intent has no leaf Leaf7-1"),
        ({"Leaf0-1": {"swp22": 1}}, "racks[0] does not list swp22 under hosts.ports"),
        ({"Leaf0-1": {"swp9": 5}, "Leaf0-2": {"swp9": 6}}, "swp9 has two numbers in racks[0]: 5 and 6"),
        ({"Leaf0-1": {"swp9": 5, "swp10": 5}}, "two ports of a rack would have the same number"),
    ],
)
def test_numbers_that_cannot_be_kept_are_refused(keep: dict[str, dict[str, int]], said: str) -> None:
    with pytest.raises(numbers.NumbersError) as refused:
        numbers.fixed(text("rdg"), fabric(), keep)
    assert str(refused.value) == said
