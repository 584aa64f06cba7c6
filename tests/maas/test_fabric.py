# SPDX-License-Identifier: Apache-2.0
"""The fabric's intent against the site file: what does not fit is found before machines are powered."""

from pathlib import Path

import pytest
from lab.maassite import edit, writes

RDG = (Path(__file__).parents[2] / "charms/cumulus-fabric/examples/rdg.yaml").read_text()
FIRST, LAST = "  - hosts: swp9-10\n    bonds:", "  - hosts: swp9-10\n"
NAMED = """  - hosts:
      members:
        node1: {local-id: 1, port: swp9}
        node2: {local-id: 2, port: swp10}
        Node3: {local-id: 3, port: swp11}
"""


@pytest.fixture
def intent(site):
    """The site's intent, which the test changes: the RDG's, with texts replaced."""
    path = site.parent / "site-fabric.yaml"
    edit(
        site,
        next(line for line in site.read_text().splitlines() if line.startswith("intent:")),
        f"intent: {path.name}",
    )

    def changed(*changes):
        text = RDG
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)

    changed()
    return changed


def line(said, subject):
    return next(each for each in said.splitlines() if f" {subject} " in each)


def test_the_reference_site_and_its_intent_go_together(intent, run):
    said = run("plan")
    assert "intent" not in said
    assert "blocked" not in said


def test_a_space_on_another_vlan_keeps_everything_from_being_written(maas, intent, run):
    intent(("public: {vlan: 9,", "public: {vlan: 19,"))
    said = run("apply", expected=1)
    assert line(said, "public-space").startswith("blocked")
    assert "it is VLAN 19 in the intent (network public), vid 9 in the site file" in said
    assert "Nothing was written." in said
    assert writes(maas) == []
    assert "disruption" not in run("plan"), "a step, held or not, has this column"


def test_what_is_cabled_wrong_powers_nothing_on(maas, intent, run):
    run("apply")
    intent(("overlay: {vlan: 40,", "overlay: {vlan: 41,"))
    maas.requests.clear()
    said = run("commission", "--power-on", expected=1)
    assert "it is VLAN 41 in the intent (network overlay), vid 40 in the site file" in said
    assert writes(maas) == []


def test_a_network_that_hosts_do_not_get_untagged_is_not_vid_0(intent, run):
    intent(("vlan: 3000, untagged: true,", "vlan: 3000,"))
    assert "it is VLAN 3000 in the intent (network oam), vid 0 in the site file" in run("plan")


def test_a_network_that_only_hosts_have_untagged_is_vid_0(intent, run):
    hosts = "  - hosts: {ports: swp9-10, untagged: oam}\n"
    single = "networks: [oam, public], description"
    intent(
        ("vlan: 3000, untagged: true,", "vlan: 3000,"),
        (LAST, hosts),
        (single, f"untagged: oam, {single}"),
    )
    assert "blocked" not in run("plan")
    assert "warning" not in run("plan")


def test_ports_that_carry_less_than_the_networks_need_are_told(intent, run):
    intent(("host: 9000", "host: 1500"))
    said = run("verify", expected=1)
    what = (
        "no port of the intent does for enp63s0f0, enp63s0f1: bond1 of Leaf0-1 and Leaf0-2 carries 1500 bytes"
    )
    assert next(each for each in said.splitlines() if what in each).startswith("warning   node1 ")


def test_hosts_that_the_intent_names_are_held_against_their_own_ports(intent, run):
    intent((FIRST, f"{NAMED}    bonds:"))
    assert "blocked" not in run("plan")


@pytest.mark.parametrize(
    ("member", "says"),
    [
        ("networks: [oam, public, internal]", "does not carry VLAN 40 of overlay-space"),
        ("untagged: none", "carries nothing untagged, not oam-space"),
        ("untagged: internal", "carries internal untagged, not oam-space"),
    ],
)
def test_the_ports_of_a_named_host_carry_what_its_tag_needs(maas, intent, run, member, says):
    one = f"    bonds:\n      bond_a: {{ports: swp11, local-id: 3, host: node1, {member}}}\n"
    intent((f"{FIRST}\n", one.replace("    bonds", "  - hosts: swp9-10\n    bonds")))
    said = run("apply", expected=1)
    assert f"bond_a of Leaf0-1 and Leaf0-2 {says}" in said
    assert writes(maas) == []


def test_a_bonded_machine_on_a_single_port_is_named(intent, run):
    intent(("juju: {leaf", "node1: {leaf"))
    said = run("verify", expected=1)
    assert (
        "swp23 of Leaf0-1 is a port without a bond, and enp63s0f0, enp63s0f1 are bonded in the site file"
        in said
    )


def test_a_single_port_may_be_on_a_switch_that_is_in_no_intent(intent, run):
    intent(("    single-homed:\n", "#"), ("      juju: {leaf", "#"), ("      maas: {leaf", "#"))
    assert "intent" not in run("verify", expected=1)


JUJU = "      juju: {leaf: 1, port: swp23, networks: [oam, public], description: juju}\n"
MAAS = "      maas: {leaf: 1, port: swp24, networks: [oam, public], description: maas}\n"


def test_the_port_of_a_router_is_not_taken_for_that_of_a_machine(intent, run):
    router = "      edge: {leaf: 1, port: swp24, networks: [provider], untagged: none}\n"
    intent((MAAS, router))
    assert "intent" not in run("verify", expected=1)
    intent((MAAS, router), (JUJU, JUJU.replace("[oam, public]", "[oam]")))
    what = "no port of the intent does for enp63s0f0: swp23 of Leaf0-1 does not carry VLAN 9 of public-space"
    assert what in run("verify", expected=1)


def test_more_machines_than_host_ports_are_told(intent, run):
    intent((LAST, "  - hosts: swp9\n"))
    assert "blocked" not in run("plan")
    intent((f"{LAST}    bonds:", "  - bonds:"), (f"\n{LAST}", "\n  - hosts: swp9\n"))
    assert "3 machines have a bond of 2 ports, and the intent has 1 of these for them" in run(
        "verify", expected=1
    )


def test_storage_bonds_on_the_same_leaves_are_counted_and_compared_by_themselves(intent, site, run):
    network = "storage-space: {vid: 50, vlan: storage, mtu: 9000, subnet: s, cidr: 172.20.0.0/24}"
    own = "networks: [oam-space, public-space, internal-space, overlay-space]"
    edit(site, "networks:\n  oam", f"networks:\n  {network}\n  oam")
    edit(site, own, f"{own}\n    nics: {{storage: {{bond: bond1, networks: [storage-space]}}}}")
    ports = "    ports: [enp63s0f0, enp63s0f1]\n"
    edit(site, ports, f"{ports}    nics: {{storage: [enp94s0f0, enp94s0f1]}}\n")
    fabric_network = (
        "  provider: {vlan: 101}\n",
        "  provider: {vlan: 101}\n  storage: {vlan: 50, space: storage-space}\n",
    )
    hosts = (LAST, "  - hosts: {ports: swp9-10, networks: [oam, public, internal, overlay]}\n")
    bonds = "".join(
        f"      st{n}: {{ports: swp1{n}, local-id: 2{n}, networks: [storage], untagged: none}}\n"
        for n in (1, 2, 3)
    )
    intent(fabric_network, hosts, ("    bonds:\n", f"    bonds:\n{bonds}"))
    assert "intent" not in run("verify", expected=1)
    intent(fabric_network, hosts, ("    bonds:\n", f"    bonds:\n{bonds.splitlines(keepends=True)[0]}"))
    what = "3 machines have a bond of 2 ports, and the intent has 1 of these for them"
    assert what in run("verify", expected=1)
    intent(fabric_network, hosts)
    what = "the intent has no bond of 2 ports for enp94s0f0, enp94s0f1"
    assert what in run("verify", expected=1)


def test_a_network_on_other_switches_is_not_asked_of_the_intent(intent, site, run):
    edit(site, "  public-space:\n    vid: 9\n", "  public-space:\n    fabric: fabric-other\n    vid: 19\n")
    text = site.read_text().replace("[oam-space, public-space, ", "[oam-space, ")
    site.write_text(text.replace("[oam-space, public-space]", "[oam-space]"))
    assert "blocked" not in run("plan")
