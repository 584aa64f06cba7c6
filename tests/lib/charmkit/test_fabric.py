# SPDX-License-Identifier: Apache-2.0
"""The relation's schema: what is written reads back, what is wrong is one sentence with path and limits."""

import json
from dataclasses import replace
from typing import Any

import pytest
from charmkit.fabric import STRICT, Host, Marking, Mtu, Neighbour, Policy, PortReport, Qos, Vlan
from converge.document import LONGEST
from converge.shape import InvalidValue
from hypothesis import given
from hypothesis import strategies as st

QOS = Qos("dscp", (3,), Marking(26, 3), Marking(48, 6), {0: 50, 3: 50, 6: STRICT})
POLICY = Policy(
    qos=QOS,
    mtu=Mtu(9000, 9216),
    segment_macs={"rack0": "44:38:39:be:ef:01"},
    vlans=(Vlan(40, "overlay", ("172.16.0.0/24",)),),
)
HOST = Host(
    hostname="node1",
    ports=(
        PortReport(
            netdev="enp59s0f0np0",
            bdf="0000:3b:00.0",
            mac="10:70:fd:3b:00:00",
            mtu=9000,
            bond="bond0",
            partner_mac="44:38:39:be:ef:01",
            neighbour=Neighbour("44:38:39:00:00:01", "swp3", "leaf0-0"),
            qos=QOS,
        ),
    ),
    vlans=(Vlan(0, "br-nvda", ("192.168.25.0/24",)),),
)


@pytest.mark.parametrize(("cls", "value"), [(Policy, POLICY), (Host, HOST)])
def test_what_is_written_reads_back(cls: Any, value: Any) -> None:
    assert cls.from_json(value.to_json()) == value
    assert json.loads(value.to_json())["version"] == 1


def test_equal_values_give_equal_text_whatever_the_order_of_classes() -> None:
    other = Qos("dscp", (3,), Marking(26, 3), Marking(48, 6), {6: STRICT, 3: 50, 0: 50})
    assert Policy(other, POLICY.mtu).to_json() == Policy(QOS, POLICY.mtu).to_json()


@pytest.mark.parametrize(("cls", "value"), [(Policy, POLICY), (Host, HOST)])
def test_fields_of_a_newer_revision_are_ignored(cls: Any, value: Any) -> None:
    raw = json.loads(value.to_json())

    def add(item: Any) -> None:
        if isinstance(item, dict):
            for nested in item.values():
                add(nested)
            if not set(item) <= {*"01234567", "rack0"}:
                item["of-the-future"] = {"x": 1}
        elif isinstance(item, list):
            for nested in item:
                add(nested)

    add(raw)
    assert cls.from_json(json.dumps(raw)) == value


def changed(value: Policy | Host, path: str, to: object) -> str:
    """The JSON text with one field replaced; digits in the path count into lists."""
    raw = json.loads(value.to_json())
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    here = raw
    for part in parents:
        here = here[part]
    here[last] = to
    return json.dumps(raw)


@pytest.mark.parametrize(
    ("path", "to", "says"),
    [
        ("version", 2, "policy.version: 2 is not allowed; expected 1"),
        ("qos", [], "policy.qos: [] is not allowed; expected a mapping with the keys trust"),
        ("qos.trust", "both", "policy.qos.trust: 'both' is not allowed; expected dscp or pcp"),
        ("qos.pfc", [8], "policy.qos.pfc[0]: 8 is not allowed; expected a whole number from 0 to 7"),
        ("qos.pfc", [4, 3], "policy.qos.pfc: [4, 3] is not allowed; expected each lossless priority once"),
        ("qos.roce", {"dscp": 64, "priority": 3}, "policy.qos.roce.dscp: 64 is not allowed"),
        ("qos.cnp", {"dscp": 48}, "policy.qos.cnp.priority: an empty value is not allowed"),
        ("qos.ets", {"0": 50, "3": 40}, "percentages that total 100"),
        ("qos.ets", {"3": 100}, "a share for class 0"),
        ("qos.ets", {"8": 100}, "policy.qos.ets.8: '8' is not allowed; expected a traffic class from 0"),
        ("qos.ets", {"0": "lax"}, "policy.qos.ets.0: 'lax' is not allowed"),
        ("qos.ets", {"0": 100, "1": 0}, "policy.qos.ets.1: 0 is not allowed"),
        ("mtu", None, "policy.mtu: an empty value is not allowed; expected a mapping"),
        ("mtu", {"host": 9000, "fabric": 10**6}, "policy.mtu.fabric: 1000000 is not allowed"),
        ("segment_macs", ["x"], "policy.segment_macs: ['x'] is not allowed"),
        ("segment_macs", {"r": "44:38:39:BE:EF:01"}, "policy.segment_macs.r: '44:38:39:BE:EF:01' is not"),
        ("vlans", [{"id": 4095, "name": "x"}], "policy.vlans[0].id: 4095 is not allowed"),
        ("vlans", [{"id": 1, "name": "x\ny"}], "policy.vlans[0].name: 'x\\ny' is not allowed"),
        ("vlans", [{"id": 1, "name": "x"}, {"id": 1, "name": "y"}], "policy.vlans: [1, 1] is not allowed"),
        ("vlans", [{"id": 1, "name": "x", "subnets": ["10.0.0.1/24"]}], "policy.vlans[0].subnets[0]: "),
    ],
)
def test_a_wrong_policy_is_one_sentence(path: str, to: object, says: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        Policy.from_json(changed(POLICY, path, to))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "to", "says"),
    [
        ("hostname", "", "host.hostname: an empty value is not allowed"),
        ("hostname", 5, "host.hostname: 5 is not allowed"),
        ("ports", ["x"], "host.ports[0]: 'x' is not allowed; expected a mapping with the keys netdev"),
        ("ports.0.bdf", "3b:00.0", "host.ports[0].bdf: '3b:00.0' is not allowed"),
        ("ports.0.mac", "x", "host.ports[0].mac: 'x' is not allowed"),
        ("ports.0.mtu", "9000", "host.ports[0].mtu: '9000' is not allowed"),
        ("ports.0.bond", 1, "host.ports[0].bond: 1 is not allowed"),
        ("ports.0.partner_mac", "", "host.ports[0].partner_mac: an empty value is not allowed"),
        ("ports.0.neighbour", "leaf", "host.ports[0].neighbour: 'leaf' is not allowed"),
        ("ports.0.neighbour.port", "", "host.ports[0].neighbour.port: an empty value is not allowed"),
        ("ports.0.qos.roce.dscp", -1, "host.ports[0].qos.roce.dscp: -1 is not allowed"),
        ("vlans.0.id", 4095, "host.vlans[0].id: 4095 is not allowed"),
    ],
)
def test_a_wrong_host_is_one_sentence(path: str, to: object, says: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        Host.from_json(changed(HOST, path, to))
    assert says in str(refused.value)


def test_a_policy_with_all_vlans_may_be_longer_than_what_a_host_writes() -> None:
    vlans = tuple(Vlan(number, f"provider-{number}") for number in range(1, 4095))
    text = replace(POLICY, vlans=vlans).to_json()
    assert len(text) > LONGEST
    assert Policy.from_json(text).vlans == vlans
    with pytest.raises(InvalidValue, match=r"^host: .* expected at most 65536 characters"):
        Host.from_json(" " * LONGEST + HOST.to_json())


def test_values_check_themselves_before_they_are_written() -> None:
    with pytest.raises(InvalidValue, match=r"^dscp: 64 is not allowed"):
        Marking(64, 0)
    with pytest.raises(InvalidValue, match=r"^ets: .* expected a share for class 0"):
        replace(QOS, ets={0: 99})
    with pytest.raises(InvalidValue, match=r"^ports: .* each port once"):
        Host("node1", (HOST.ports[0], HOST.ports[0]))


macs = st.from_regex(r"\A(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\Z")
texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=20)
markings = st.builds(Marking, st.integers(0, 63), st.integers(0, 7))
shares = st.sampled_from(
    [{0: 100}, {0: STRICT}, {0: 50, 3: 50, 6: STRICT}, {0: 10, 5: 90}, {0: STRICT, 1: 1, 2: 99}]
)
policies = st.builds(
    Policy,
    st.none()
    | st.builds(
        Qos,
        st.sampled_from(["dscp", "pcp"]),
        st.sets(st.integers(0, 7)).map(lambda found: tuple(sorted(found))),
        markings,
        markings,
        shares,
    ),
    st.builds(Mtu, st.integers(1280, 65535), st.integers(1280, 65535)),
    st.dictionaries(texts, macs, max_size=3),
    st.lists(
        st.builds(Vlan, st.integers(0, 4094), texts, st.just(("10.0.0.0/8", "2001:db8::/64"))),
        max_size=3,
        unique_by=lambda vlan: vlan.id,
    ).map(tuple),
)
hosts = st.builds(
    Host,
    texts,
    st.lists(
        st.builds(
            PortReport,
            texts,
            st.from_regex(r"\A[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\Z"),
            macs,
            st.integers(0, 65535),
            st.none() | texts,
            st.none() | macs,
            st.none() | st.builds(Neighbour, texts, texts, texts | st.just("")),
            st.none() | st.just(QOS),
        ),
        max_size=3,
        unique_by=lambda port: port.bdf,
    ).map(tuple),
)


@given(policies)
def test_every_policy_reads_back(policy: Policy) -> None:
    assert Policy.from_json(policy.to_json()) == policy


@given(hosts)
def test_every_host_reads_back(host: Host) -> None:
    assert Host.from_json(host.to_json()) == host


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PATHS = [
    "qos", "qos.trust", "qos.pfc", "qos.roce", "qos.roce.dscp", "qos.ets", "qos.ets.0", "mtu", "mtu.host",
    "segment_macs", "segment_macs.rack0", "vlans", "vlans.0", "vlans.0.id", "vlans.0.name", "vlans.0.subnets",
]  # fmt: skip


@given(st.sampled_from(PATHS), json_values)
def test_any_value_anywhere_is_taken_or_refused_in_one_sentence(path: str, value: Any) -> None:
    try:
        policy = Policy.from_json(changed(POLICY, path, value))
    except InvalidValue as error:
        assert str(error).startswith("policy")
        assert "\n" not in str(error)
    else:
        assert Policy.from_json(policy.to_json()) == policy
