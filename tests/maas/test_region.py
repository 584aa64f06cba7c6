# SPDX-License-Identifier: Apache-2.0
"""The simulated region answers as MAAS does: a plan that passes it passes there."""

import pytest
from lab.maas import KEY, RefusedError, image
from lab.maassite import machine, new_fabric
from maas.client import Maas
from recorded.maas import pairs
from recorded.maas.region import LISTS, answered, ask, differences, ids, named

REFUSALS = pairs()
NODE = {"hostname": "node9", "architecture": "amd64/generic", "commission": False}


def asked(region, pair):
    """The answer to a recorded request, and the ids that it is about."""
    known = ids({kind: region.answer("GET", [kind], None, {}) for kind in LISTS})
    data = {field: named(value, known) for field, value in pair.get("data", {}).items()}
    request = named(pair["request"], known)
    return ask(region.http_open, "http://maas/MAAS", KEY, request, data), known


@pytest.mark.parametrize("pair", REFUSALS, ids=lambda pair: pair["call"])
def test_it_answers_as_maas_3_4_does(built, pair):
    built.racks_have_images = pair["call"] != "commission allocated"
    answer, known = asked(built, pair)
    assert [*differences(pair, answer, known)] == []


@pytest.mark.parametrize(
    ("call", "recorded", "told"),
    [
        ("space twice", {"status": 409}, "status 400, recorded 409"),
        (
            "space twice",
            {"said": {"name": ["No."]}},
            "name: it says ['Space with this Name already exists.']",
        ),
        ("space twice", {"said": {}}, "name: it says ['Space with this Name already exists.'], recorded []"),
        ("GET unknown path", {"said": "Gone"}, "it says 'Unknown API endpoint: /MAAS/api/2.0/nothing/.'"),
        ("fabric new", {"status": 400, "said": {}}, "status 200, recorded 400"),
    ],
)
def test_a_region_that_answers_otherwise_is_told_and_its_answer_kept(built, call, recorded, told):
    (pair,) = [each for each in REFUSALS if each["call"] == call]
    answer, known = asked(built, pair)
    (sentence,) = differences({**pair, **recorded}, answer, known)
    assert sentence.startswith(told)
    assert answered({**pair, **recorded}, answer) == pair


def test_the_recording_is_whole():
    assert len(REFUSALS) == 112


def test_the_first_vlan_of_a_fabric_is_told_as_untagged_whatever_its_name_is(maas):
    """Seen on MAAS 3.3, 3.4 and 3.5; get_name in models/vlan.py is so in 2.9 to 3.8."""
    fabric = maas.post_fabrics({"name": "storage"})
    (first,) = fabric["vlans"]
    assert maas.put_vlans({"name": "mine"}, first)["name"] == "untagged"
    assert maas.post_vlans({"vid": 5, "name": "v5"}, fabric)["name"] == "v5"


def test_what_was_taken_and_not_kept(built):
    """A port of a bond keeps the VLAN of the bond; a host name like an address is replaced."""
    port = machine(built, "node1")["interface_set"][0]
    other = next(each for each in built.vlans if each["vid"] == 9)
    built.put_interfaces({"vlan": other}, port)
    assert port["vlan"]["vid"] == 0
    assert built.post_machines(NODE | {"hostname": "192-168-25-77"})["hostname"] != "192-168-25-77"


def said(write, *arguments):
    with pytest.raises(RefusedError) as refused:
        write(*arguments)
    status, fields = refused.value.args
    assert status == 400
    return fields


def test_a_machine_whose_kernel_or_architecture_has_no_image(maas):
    message = {"min_hwe_kernel": ['No kernel matches ">=hwe-24.04" requirement.']}
    assert said(maas.post_machines, NODE | {"min_hwe_kernel": "hwe-24.04"}) == message
    maas.boot_resources = [image(1, "ga-22.04", complete=False)]
    assert "min_hwe_kernel" in said(maas.post_machines, NODE | {"min_hwe_kernel": "ga-22.04"})
    maas.boot_resources.clear()
    (message,) = said(maas.post_machines, NODE)["architecture"]
    assert message.startswith("'amd64/generic' is not a valid architecture.")


def test_a_port_with_a_link_is_in_a_fabric_of_its_own_until_it_moves(maas):
    fabric = new_fabric(maas, "fabric-7", of_a_port=True)
    node = maas.post_machines(NODE)
    port = maas.interface(node, "physical", "eno2", fabric["vlans"][0], [], [])
    maas.put_interfaces({"vlan": maas.vlans[0]}, port)
    assert [each["name"] for each in maas.fabrics] == ["fabric-0"]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("other:token:secret", "Invalid consumer."),
        ("consumer:other:secret", "Invalid access token: other"),
        ("consumer:token:other", "Invalid signature. Expected signature base string: &secret"),
    ],
)
def test_a_wrong_key_is_refused_with_the_words_of_oauth(maas, monkeypatch, key, says):
    heard = []
    monkeypatch.setattr("maas.client._said", lambda error: heard.append(error.read().decode()) or "")
    with pytest.raises(Exception, match="401"):
        Maas("http://192.168.25.1:5240/MAAS", key).send("spaces/")
    assert says in heard[0]
