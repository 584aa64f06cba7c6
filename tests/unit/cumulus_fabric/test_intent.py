# SPDX-License-Identifier: Apache-2.0
"""The intent's document: what the parser accepts, the JSON Schema accepts, and nothing else."""

import copy
import json

import jsonschema
import pytest
from converge.shape import InvalidValue
from hypothesis import given, settings
from hypothesis import strategies as st
from intent import expand, schema
from unit.cumulus_fabric.fabrics import CHARM, data, text

EXAMPLES = ["rdg", "rdg-max", "demartek"]
SHIPPED = json.loads((CHARM / "schema/intent.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SHIPPED)


def parsed(content) -> bool:
    try:
        schema.INTENT.read("", content)
    except InvalidValue as error:
        assert "\n" not in str(error)
        assert error.where or not isinstance(content, dict)
        return False
    return True


def test_the_shipped_schema_is_that_of_the_code():
    assert schema.json_schema() == SHIPPED


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SHIPPED)


@pytest.mark.parametrize("name", EXAMPLES)
def test_parser_and_schema_accept_the_examples(name):
    assert VALIDATOR.is_valid(data(name))
    expand.expand(schema.parse(text(name)))


def test_the_guides_maximum_is_about_a_page():
    lines = [line for line in text("rdg-max").splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= 45
    fabric = expand.expand(schema.parse(text("rdg-max")))
    assert len(fabric.switches) == 48
    assert len(fabric.racks) == 16
    hosts = {(leaf.rack, bond.name) for rack in fabric.racks for leaf in rack for bond in leaf.bonds}
    assert len(hosts) == 256


WRONG = [
    ("mtu", "9000", "mtu: '9000' is not allowed; expected a mapping with the keys host, fabric, tenant"),
    ("mtu.host", "big", "mtu.host: 'big' is not allowed; expected an MTU from 1280 to 9216"),
    ("mtu.host", True, "mtu.host: true is not allowed; expected an MTU from 1280 to 9216"),
    ("networks", {}, "networks: {} is not allowed; expected a mapping of networks"),
    ("networks.oam.vlan", 4095, "networks.oam.vlan: 4095 is not allowed; expected a VLAN from 1 to 4094"),
    (
        "networks.oam.vlan",
        None,
        "networks.oam.vlan: an empty value is not allowed; expected a VLAN from 1 to 4094",
    ),
    (
        "networks.oam.vni",
        1 << 24,
        "networks.oam.vni: 16777216 is not allowed; expected a VNI from 1 to 16777215",
    ),
    (
        "networks.none",
        {"vlan": 7},
        "networks.none: 'none' is not allowed; expected a name such as oam, but not none",
    ),
    (
        "networks.oam.subnets",
        ["10.0.0.0/33"],
        "networks.oam.subnets[0]: '10.0.0.0/33' is not allowed; expected an IPv4",
    ),
    ("roce.mode", "on", "roce.mode: 'on' is not allowed; expected lossless, lossy or off"),
    ("roce.priority", 8, "roce.priority: 8 is not allowed; expected a priority from 0 to 7"),
    (
        "spines.loopback",
        "10.10.10.256",
        "spines.loopback: '10.10.10.256' is not allowed; expected an IPv4 address",
    ),
    (
        "spines.loopbacks",
        "10.10.10.1",
        "spines.loopbacks: 'loopbacks' is not allowed; expected only the keys count,",
    ),
    (
        "leaves.segment-mac",
        "44:38:39",
        "leaves.segment-mac: '44:38:39' is not allowed; expected a MAC address such",
    ),
    ("leaves.uplinks", "eth0", "leaves.uplinks: 'eth0' is not allowed; expected ports such as swp9-10,swp22"),
    (
        "leaves.df-preference",
        "1",
        "leaves.df-preference: '1' is not allowed; expected a df-preference from 1 to 65535,",
    ),
    ("racks", "two", "racks: 'two' is not allowed; expected a list of racks"),
    (
        "racks",
        [{"hosts": "swp9", "bonds": {"node1-2": {"ports": "swp22", "local-id": 9}}}],
        "racks[0].bonds.node1-2: 'node1-2' is not allowed; expected a bond's name of 15 letters, digits, "
        "_ or - at most, but no range such as node1-2",
    ),
    (
        "racks",
        [{"hosts": {"ports": "swp9", "bond": "node1-{n}"}}],
        "racks[0].hosts.bond: 'node1-{n}' is not allowed; expected a name that ends in {n}, such as bond{n},",
    ),
    ("dialect", "5.13", "dialect: '5.13' is not allowed; expected auto, 5.14 or 5.15"),
    ("version", 2, "version: 2 is not allowed; expected the version 1"),
    ("switches", {"Leaf 1": {}}, "switches.Leaf 1: 'Leaf 1' is not allowed; expected a switch's host name"),
    (
        "standalone",
        {"x": {"ports": "1/1"}},
        "standalone.x.platform: an empty value is not allowed; expected onyx or",
    ),
]


def put(content, path, value):
    *keys, last = path.split(".")
    for key in keys:
        content = content[key]
    content[last] = value


@pytest.mark.parametrize(("path", "value", "sentence"), WRONG, ids=[wrong[0] for wrong in WRONG])
def test_a_wrong_value_is_named_with_its_path_and_what_is_allowed(path, value, sentence):
    content = data()
    put(content, path, value)
    with pytest.raises(InvalidValue) as caught:
        schema.INTENT.read("", content)
    assert str(caught.value).startswith(sentence)
    assert not VALIDATOR.is_valid(content)


# The traps of YAML 1.1.


def test_a_mac_of_digits_is_text_and_not_a_sexagesimal_number():
    changed = text("rdg").replace("44:38:39:BE:EF:01", "44:38:39:22:01:18")
    assert schema.parse(changed).leaves.segment_mac == "44:38:39:22:01:18"


def test_the_dialect_is_text_also_without_quotes():
    assert schema.parse(text("rdg") + "dialect: 5.15\n").dialect == "5.15"


def test_on_is_text_and_not_a_boolean():
    with pytest.raises(InvalidValue, match=r"networks\.provider\.untagged: 'on' .* expected true or false"):
        schema.parse(text("rdg").replace("{vlan: 101}", "{vlan: 101, untagged: on}"))


BROKEN = [
    ("a: [1", "line 1"),
    ("a: 1\na: 2", "'a' is not allowed; expected plain keys, each once, instead of that one in line 2"),
    ("? [a]\n: 1", "plain keys"),
    ("networks: {oam: {vlan: 1}}\n\tracks: []", "line 2"),
    ("a: !!python/object/apply:os.system [true]", "YAML document"),
    ("\x00", "YAML document"),
    ("vlan: !!int x", "YAML document"),
    ("vlan: !!int ''", "YAML document"),
    ("vlan: !!float x", "YAML document"),
    ("vlan: !!bool x", "YAML document"),
    ("vlan: !!timestamp x", "YAML document"),
    ("vlan: " + "9" * 5000, "YAML document"),
    ("", "the document: an empty value is not allowed; expected a mapping with the keys version"),
    ("just text", "the document: 'just text' is not allowed; expected a mapping"),
    ("[" * 5000, "without endless nesting"),
]


@pytest.mark.parametrize(("document", "sentence"), BROKEN, ids=range(len(BROKEN)))
def test_text_that_is_not_a_document_is_refused_in_one_sentence(document, sentence):
    with pytest.raises(InvalidValue) as caught:
        schema.parse(document)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


# Parser and schema agree on whatever is done to an example.

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70000),
    st.sampled_from(
        [
            "",
            "on",
            "auto",
            "none",
            "oam",
            "Leaf0-1",
            "swp1",
            "swp1-4,swp9",
            "swp01",
            "swp1s8",
            "swp1-",
            "bond9",
        ]
    ),
    st.sampled_from(
        ["10.10.10.1", "10.10.10.01", "10.0.0.0/8", "44:38:39:FF:00:01", "lossy", "5.15", "1/1-8"]
    ),
    st.sampled_from([[], [1], ["oam"], ["oam", 3], {}, {"vlan": 5}, {"first": 1}, {"x": {"ports": "1/1"}}]),
    st.text(max_size=6).filter(lambda value: not value.endswith("\n")),
)
KEYS = st.sampled_from(
    ["vlan", "names", "networks", "all", "x", "bond_y", "none", "untagged", "mtu", "ports", "tracked"]
)


def places(node, path=()):
    """Every container of a document, by path."""
    if isinstance(node, dict | list):
        yield path
        entries = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in entries:
            yield from places(value, (*path, key))


@settings(deadline=None)
@given(st.sampled_from(EXAMPLES), st.data())
def test_parser_and_schema_accept_the_same_documents(name, draw):
    content = copy.deepcopy(data(name))
    for _ in range(draw.draw(st.integers(1, 3))):
        path = draw.draw(st.sampled_from(sorted(places(content), key=str)))
        node = content
        for key in path:
            node = node[key]
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if isinstance(node, list) and draw.draw(st.booleans()):
            node.append(copy.deepcopy(draw.draw(VALUES)))
        elif keys and draw.draw(st.booleans()):
            key = draw.draw(st.sampled_from(keys))
            if draw.draw(st.booleans()):
                node[key] = copy.deepcopy(draw.draw(VALUES))
            else:
                del node[key]
        elif isinstance(node, dict):
            node[draw.draw(KEYS)] = copy.deepcopy(draw.draw(VALUES))
    assert parsed(content) == VALIDATOR.is_valid(content)


def test_the_intent_of_the_how_to_is_one_and_is_that_of_the_guide():
    page = (CHARM.parents[1] / "docs/how-to/describe-the-fabric.md").read_text()
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    short, whole = (expand.expand(schema.parse(document)) for document in (shown, text("rdg")))
    for one, other in zip(short.switches, whole.switches):
        assert (one.name, one.asn, one.loopback, one.links) == (
            other.name,
            other.asn,
            other.loopback,
            other.links,
        )
        assert [bond.segment for bond in one.bonds] == [bond.segment for bond in other.bonds]
