# SPDX-License-Identifier: Apache-2.0
"""The simulated region answers as MAAS does: a plan that passes it passes there."""

import json
import re
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml
from lab.maas import KEY, RefusedError, image
from lab.maassite import machine, new_fabric
from maas.client import Maas

RECORDED = Path(__file__).parent / "recorded"
REFUSALS = yaml.safe_load((RECORDED / "refusals.yaml").read_text())
NODE = {"hostname": "node9", "architecture": "amd64/generic", "commission": False}


def numbers(region):
    """The ids that a recorded request means, by the words that stand for them."""
    found = {f"VLAN {each['vid']}": each["id"] for each in region.vlans}
    found |= {f"subnet {each['cidr']}": each["id"] for each in region.subnets}
    found |= {each["hostname"]: each["system_id"] for each in region.machines}
    for each in region.machines:
        found |= {f"{each['hostname']}/{port['name']}": port["id"] for port in each["interface_set"]}
    return found | {"fabric": region.fabrics[0]["id"], "rack": region.rackcontrollers[0]["system_id"]}


def ask(region, method, path, data):
    """Status, type and text of an answer."""
    headers = {}
    consumer, token, secret = KEY.split(":")
    oauth = f'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="{consumer}"'
    oauth += f', oauth_token="{token}", oauth_signature="%26{secret}", oauth_nonce="1"'
    headers["Authorization"] = f'{oauth}, oauth_timestamp="{int(region.clock())}"'
    sent = urllib.parse.urlencode(data).encode() if data else None
    address = f"http://maas/MAAS/api/2.0/{path}"
    answer = region.http_open(urllib.request.Request(address, sent, headers, method=method))
    return answer.code, answer.headers.get_content_type(), answer.read().decode()


def words(text):
    """A page as what it says."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


@pytest.mark.parametrize("pair", REFUSALS, ids=lambda pair: pair["call"])
def test_it_answers_as_maas_3_4_does(built, pair):
    known = numbers(built)

    def named(text):
        return re.sub(r"\{([^{}]+)\}", lambda found: str(known.get(found[1], found[0])), str(text))

    built.racks_have_images = pair["call"] != "commission allocated"
    method, path = named(pair["request"]).split(" ", 1)
    data = {field: named(value) for field, value in pair.get("data", {}).items()}
    status, kind, text = ask(built, method, path, data)
    assert (status, kind) == (pair.get("status", 200), pair.get("type", "application/json"))
    if status == 200:
        assert isinstance(json.loads(text), dict)
    elif isinstance(pair["said"], str):
        assert words(text) == " ".join(pair["said"].split())
    else:
        expected = {field: [named(each) for each in said] for field, said in pair["said"].items()}
        for field, said in json.loads(text).items():
            for one, wanted in zip(said, expected.pop(field), strict=True):
                assert one.startswith(wanted[:-1]) if wanted.endswith("…") else one == wanted
        assert expected == {}


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
