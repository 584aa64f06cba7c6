# SPDX-License-Identifier: Apache-2.0
"""Every intent is refused by path, or fails its audit by path, or every switch takes its tree."""

import re
from typing import Any

import audit
import pytest
from converge import Severity
from converge.shape import InvalidValue
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from intent import expand, schema
from intent.model import Dialect
from lab.nvue import Rules
from tree import commands, render
from unit.cumulus_fabric import nvcommands

PATH = re.compile(r"(networks|mtu|roce|spines|leaves|racks|switches|standalone)(\[\d+\]|\.[\w-]+|$)")
NETWORKS = ["oam", "public", "internal"]
RULES = {Dialect.UNTIL_5_14: Rules((5, 14)), Dialect.FROM_5_15: Rules((5, 15))}


def some(*values: Any) -> st.SearchStrategy[Any]:
    """One of these, or nothing at all; the first ones are what a sound intent has."""
    return st.sampled_from([*values, None])


@st.composite
def ranges(draw: st.DrawFn) -> str:
    first = draw(st.integers(1, 34))
    return draw(st.sampled_from([f"swp{first}", f"swp{first}-{first + 1}", f"swp{first}-{first + 3}"]))


def carried() -> dict[str, st.SearchStrategy[Any]]:
    return {
        "networks": some(["oam", "public"], ["public"], ["storage"]),
        "untagged": some("oam", "public", "none"),
        "mtu": some(9000, 1500, 9216),
    }


@st.composite
def record(draw: st.DrawFn, keys: dict[str, Any], **optional: st.SearchStrategy[Any]) -> dict[str, Any]:
    """These keys, and some of the optional ones."""
    made = dict(keys)
    for key, strategy in optional.items():
        value = draw(strategy) if draw(st.integers(0, 2)) == 0 else None
        if value is not None:
            made[key.replace("_", "-")] = value
    return made


@st.composite
def racks(draw: st.DrawFn) -> dict[str, Any]:
    bond = {"ports": draw(ranges()), "local-id": draw(st.sampled_from([9, 2, 40]))}
    port = {"leaf": draw(st.integers(1, 2)), "port": f"swp{draw(st.integers(20, 33))}"}
    host = {"ports": draw(ranges())}
    return draw(
        record(
            {"hosts": draw(st.one_of(ranges(), record(host, **carried())))},
            count=st.integers(1, 3),
            segment_mac=some("44:38:39:FF:00:01", "44:38:39:FF:00:09", "01:00:5E:00:00:01"),
            bonds=st.just({"bond_x": draw(record(bond, description=some("a b"), **carried()))}),
            single_homed=st.just({"juju": draw(record(port, **carried()))}),
        )
    )


@st.composite
def intents(draw: st.DrawFn) -> dict[str, Any]:
    """Small fabrics: sound at heart, each with a few things changed at random."""
    spines = draw(st.integers(1, 3))
    vlans = draw(st.sampled_from([(3000, 9, 10), (3000, 9, 9), (1, 4094, 3800)]))
    networks = {name: {"vlan": vlan} for name, vlan in zip(NETWORKS, vlans)}
    networks["oam"]["untagged"] = True
    networks["public"].update(draw(record({}, vni=st.sampled_from([9, 10, 16777215]))))
    listed = draw(st.lists(racks(), max_size=3))
    top = 32 - spines
    return draw(
        record(
            {
                "networks": networks,
                "spines": draw(
                    record(
                        {
                            "count": spines,
                            "asn": {"all": 65199},
                            "loopback": "10.0.0.101",
                            "downlinks": draw(st.sampled_from(["swp1-32", "swp1-4", "swp30-33"])),
                        },
                        ports=st.sampled_from([32, 16]),
                        management=st.just("192.0.2.1"),
                    )
                ),
                "leaves": draw(
                    record(
                        {
                            "asn": draw(
                                st.sampled_from([{"first": 65101}, {"all": 65101}, {"first": 65198}])
                            ),
                            "loopback": draw(st.sampled_from(["10.0.0.1", "10.0.0.98"])),
                            "segment-mac": "44:38:39:FF:00:01",
                            "uplinks": f"swp{top + 1}-32" if spines > 1 else "swp32",
                        },
                        per_rack=st.integers(1, 3),
                        df_preference=some(50000, [50000, 40000]),
                        tracked=some("swp32", "swp31-32"),
                        anycast_mac=st.just("44:38:39:BE:EF:AA"),
                        management=some("192.0.2.2", "192.0.2.40"),
                    )
                ),
                "racks": listed,
            },
            mtu=st.fixed_dictionaries(
                {"host": st.sampled_from([9000, 1500]), "fabric": st.sampled_from([9216, 9040])}
            ),
            roce=record({}, mode=some("lossy", "off"), priority=some(3, 5), dscp=some(26, 46)),
            switches=st.just(
                {"Leaf0-1": draw(record({}, asn=some(65102), roce=some("off"), ports=some(64)))}
            ),
        )
    )


def outcome(content: dict[str, Any]) -> str:
    """Return the fate of an intent; asserts that each outcome is a proper one."""
    try:
        fabric = expand.expand(schema.INTENT.read("", content))
    except InvalidValue as error:
        assert PATH.match(error.where), error
        return "refused"
    blocking = [each for each in audit.audit(fabric) if each.severity is Severity.BLOCKED]
    if blocking:
        assert all(PATH.match(each.subject) and each.what and each.remedy for each in blocking), blocking
        return "fails its audit"
    for switch in fabric.switches:
        for dialect, rules in RULES.items():
            tree = render.tree(fabric, switch, dialect)
            assert rules.refuse(tree) == ""
            assert rules.contradictions(tree) == []
            assert nvcommands.read(commands.write(tree, dialect).typed, dialect) == tree
    return "accepted"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(intents())
def test_an_intent_that_passes_its_audit_is_valid_on_every_switch(content):
    outcome(content)


@pytest.mark.parametrize("wanted", ["refused", "fails its audit", "accepted"])
def test_random_intents_have_every_outcome(wanted):
    settled = settings(deadline=None, max_examples=2000, phases=[Phase.generate], database=None)
    assert find(intents(), lambda content: outcome(content) == wanted, settings=settled)
