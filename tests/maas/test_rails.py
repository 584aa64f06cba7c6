# SPDX-License-Identifier: Apache-2.0
"""Storage and rails on NICs of their own: from the site file to MAAS, the intent, and roce-qos' options."""

from pathlib import Path

import pytest
import yaml
from check import checker
from check.options import classes
from lab.maassite import NUMA, PORTS, addresses, commission, edit, fabric_of, interfaces, writes
from maas.sitefile.reader import read_site

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
RDG = (ROOT / "charms/cumulus-fabric/examples/rdg.yaml").read_text()
PORTS_LINE = "    ports: [enp63s0f0, enp63s0f1]\n"
STORAGE = ["enp94s0f0", "enp94s0f1"]
RAILS = ["enp175s0np0", "enp216s0np0"]
NETWORKS = """networks:
  storage-space: {vid: 50, vlan: v50-storage, mtu: 9000, subnet: storage, cidr: 172.20.0.0/24}
  rail0-space: {fabric: fabric-rail0, vid: 0, vlan: untagged, mtu: 4200, subnet: rail0, cidr: 172.21.0.0/24}
  rail1-space: {fabric: fabric-rail1, vid: 0, vlan: untagged, mtu: 4200, subnet: rail1, cidr: 172.21.1.0/24}
"""
NICS = """    nics:
      storage: {bond: bond1, networks: [storage-space], rdma: true}
      rail0: {networks: [rail0-space], rdma: true}
      rail1: {networks: [rail1-space], rdma: true}
"""
MACHINE = f"    nics: {{storage: [{', '.join(STORAGE)}], rail0: [{RAILS[0]}], rail1: [{RAILS[1]}]}}\n"
COMPUTE = ("node1", "node2")
STORAGE_NETWORK = "  storage: {vlan: 50, space: storage-space}\n"


def bond(n):
    return f"      st{n}: {{ports: swp1{n}, local-id: 2{n}, networks: [storage], untagged: none}}\n"


@pytest.fixture
def rails(maas, site):
    """The two compute nodes have a storage bond on the leaves, and two rails on switches of their own."""
    edit(site, "networks:\n", NETWORKS)
    edit(site, 'passthrough: ["10de:20f1"] # A100\n', f'passthrough: ["10de:20f1"] # A100\n{NICS}')
    for name in COMPUTE:
        head = f"  {name}:\n    tag: compute_sriov\n{PORTS_LINE}"
        edit(site, head, head + MACHINE)
    text, provider = RDG, "  provider: {vlan: 101}\n"
    for old, new in (
        (provider, provider + STORAGE_NETWORK),
        ("  - hosts: swp9-10\n", "  - hosts: {ports: swp9-10, networks: [oam, public, internal, overlay]}\n"),
        ("    bonds:\n", f"    bonds:\n{bond(1)}{bond(2)}"),
    ):
        assert old in text
        text = text.replace(old, new)
    (site.parent / "site-fabric.yaml").write_text(text)
    (line,) = [line for line in site.read_text().splitlines() if line.startswith("intent:")]
    edit(site, line, "intent: site-fabric.yaml")
    return maas


@pytest.mark.parametrize("part", [NETWORKS, NICS, MACHINE, STORAGE_NETWORK, bond(1)])
def test_the_guide_shows_this_site(part):
    assert part in (ROOT / "docs/how-to/prepare-maas.md").read_text()


def built(maas, run):
    run("apply")
    commission(maas, "controller", PORTS[:1])
    commission(maas, "node3", PORTS, NUMA)
    for name in COMPUTE:
        commission(maas, name, [*PORTS, *STORAGE, *RAILS], NUMA)
    run("apply")


def test_maas_gives_storage_its_bond_and_each_rail_its_network(rails, run):
    built(rails, run)
    found, own = interfaces(rails, "node1"), addresses(rails, "node1")
    assert own["bond1.50"] == ["172.20.0.0/24"]
    assert {port: own[port] for port in RAILS} == {RAILS[0]: ["172.21.0.0/24"], RAILS[1]: ["172.21.1.0/24"]}
    assert [fabric_of(rails, found[port]) for port in RAILS] == ["fabric-rail0", "fabric-rail1"]
    assert "bond1" not in interfaces(rails, "node3")
    rails.requests.clear()
    assert "No finding: MAAS is as the site file says." in run("apply")
    assert writes(rails) == []


def test_the_intent_has_to_have_a_bond_for_each_storage_bond(rails, site, run):
    assert "blocked" not in run("plan")
    path = site.parent / "site-fabric.yaml"
    path.write_text(
        "".join(line for line in path.read_text().splitlines(keepends=True) if "st2:" not in line)
    )
    assert "2 machines have a bond of 2 ports, and the intent has 1 of these for them" in run(
        "verify", expected=1
    )


def test_the_overlay_makes_storage_and_rails_lossless_and_passes_the_checker(rails, site, run):
    path = site.parent / "site-overlay.yaml"
    run("overlay", "--output", str(path))
    found = checker.check(checker.load([BUNDLE, path], read_site(site)))
    assert [str(finding) for finding in found if finding.rule != "quorum-lock"] == []
    made = yaml.safe_load(path.read_text())["applications"]
    given = {name: made[name]["options"] for name in ("roce-qos", "nic-firmware", "sriov-switchdev")}
    every = " ".join([*PORTS, *STORAGE, *RAILS])
    assert given["roce-qos"]["devices"] == given["nic-firmware"]["devices"] == every
    assert given["sriov-switchdev"]["devices"] == " ".join(PORTS)
    for name, options in given.items():
        classes()[name](**{key.replace("-", "_"): value for key, value in options.items()})
