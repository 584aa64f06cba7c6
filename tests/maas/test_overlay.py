# SPDX-License-Identifier: Apache-2.0
"""The overlay of a site: what `maas -- overlay` writes is all that the checker and the bundle ask of one."""

import json
from pathlib import Path

import pytest
import yaml
from check import checker
from lab.maassite import SITE, edit
from maas.sitefile.reader import read_site

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
EXAMPLE = yaml.safe_load((ROOT / "overlays/site-example.yaml").read_text())
NODE2 = "  node2:\n    tag: compute_sriov\n    ports: [enp63s0f0, enp63s0f1]"
OTHER2 = "  node2:\n    tag: compute_sriov\n    ports: [enp175s0f0np0, enp175s0f1np1]"


@pytest.fixture
def written(site, run):
    """The overlay beside the site file, after its text was changed."""

    def written(*changes):
        for old, new in changes:
            edit(site, old, new)
        path = site.parent / "site-overlay.yaml"
        assert f"{path} is written" in run("overlay", "--output", str(path))
        return path

    return written


def options(path, application):
    return yaml.safe_load(path.read_text())["applications"][application]["options"]


def whitelist(path):
    return json.loads(options(path, "nova-compute")["pci-passthrough-whitelist"])


def test_the_overlay_has_the_machines_of_the_example_and_the_cpus_of_the_tag(run):
    printed = yaml.safe_load(run("overlay"))
    assert printed["machines"] == EXAMPLE["machines"]
    cpus = printed["applications"]["nova-compute"]["options"]["cpu-dedicated-set"]
    assert cpus == EXAMPLE["applications"]["nova-compute"]["options"]["cpu-dedicated-set"]


def test_memory_that_the_tag_reserves_for_the_host_is_novas(written):
    path = written(("reserved-host-memory: 32768", "reserved-host-memory: 65536"))
    assert options(path, "nova-compute")["reserved-host-memory"] == 65536
    control = ("comment: OpenStack control plane", "comment: control\n    reserved-host-memory: 16384")
    assert options(written(control), "nova-compute")["reserved-host-memory"] == 65536
    path = written(("reserved-host-memory: 65536", "#"), ("reserved-host-memory: 16384", "#"))
    assert "reserved-host-memory" not in options(path, "nova-compute")


def test_a_space_has_the_name_that_juju_gives_it(written, site):
    """Juju has the names of MAAS' spaces in lower case."""
    site.write_text(site.read_text().replace("oam-space", "OAM-Space"))
    assert yaml.safe_load(written().read_text())["machines"] == EXAMPLE["machines"]


def test_every_value_of_the_hand_written_example_is_in_the_overlay(written):
    """Ports by name there, by address here; the rest is the same, value for value."""
    path = written()
    for application, body in EXAMPLE["applications"].items():
        found = options(path, application)
        for name, value in body["options"].items():
            if name == "devices":
                assert found[name] == "enp63s0f0 enp63s0f1"
            elif name == "pci-passthrough-whitelist":
                assert whitelist(path) == json.loads(value)
            else:
                assert found[name] == value, (application, name)


NODE = """    tag: compute_sriov
    ports: [enp63s0f0, enp63s0f1]
    power-address: 192.168.0.14
    power-type: ipmi
    power-user: file:user
    power-pass: file:password
"""
ALL = "networks: [oam-space, public-space, internal-space, overlay-space]"
BOTH = "    ports: [enp63s0f0, enp63s0f1]\n"
STORAGE = "storage-space: {fabric: storage, vid: 0, vlan: storage, mtu: 4200, subnet: s, cidr: 172.20.0.0/24}"
VARIANTS = {
    "a second NIC for storage": [
        ("networks:\n  oam", f"networks:\n  {STORAGE}\n  oam"),
        (ALL, f"{ALL}\n    nics: {{storage: {{bond: bond1, networks: [storage-space], rdma: true}}}}"),
        (BOTH, f"{BOTH}    nics: {{storage: [enp94s0f0, enp94s0f1]}}\n"),
    ],
    "OAM on a port of its own": [
        ("  oam-space:\n", "  oam-space:\n    fabric: oam\n"),
        (f"    {ALL}", f"    nics: {{oam: {{networks: [oam-space]}}}}\n    {ALL.replace('oam-space, ', '')}"),
        (BOTH, f"{BOTH}    nics: {{oam: [eno1]}}\n"),
        ("networks: [oam-space, public-space]", "networks: [oam-space]"),
    ],
    "the example": [],
    "by address": [("physnets:", 'addresses: ["0000:3f:00.0", "0000:3f:00.1"]\n    physnets:')],
    "by product": [("physnets: [none, tenantvlan]", "vf-product: 101e\n    physnets: [none, none]")],
    "two physical networks": [("[none, tenantvlan]", "[tenantvlan, storagevlan]")],
    "another bridge": [("bridge: br-nvda", "bridge: br-ex")],
    "Geneve alone": [("[none, tenantvlan]", "[none, none]"), ("bridge: br-nvda", "bridge: br-ex")],
    "four compute nodes": [
        (
            "machines:\n",
            "machines:\n  node4: &four\n" + NODE + "  node5: {<<: *four, power-address: 192.168.0.15}\n",
        )
    ],
    "no GPU": [
        ('    passthrough: ["10de:20f1"] # A100\n', ""),
        (" blacklist=nouveau rd.blacklist=nouveau", ""),
    ],
    "a single port": [
        *(("    bond: bond0\n", ""), ("ports: [enp63s0f0, enp63s0f1]", "ports: [enp63s0f0]")),
        ("[none, tenantvlan]", "[none]"),
    ],
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_the_overlay_passes_the_checker_with_its_site(written, site, changes):
    bundle = checker.load([BUNDLE, written(*changes)], read_site(site))
    # The bundle's control node is rebooted by hand: quorum-lock warns of that with any site.
    found = [finding for finding in checker.check(bundle) if finding.rule != "quorum-lock"]
    assert [str(finding) for finding in found] == []


def test_further_compute_nodes_come_after_the_control_nodes_and_get_units(written):
    path = written(*VARIANTS["four compute nodes"])
    made = yaml.safe_load(path.read_text())
    tags = [body["constraints"].split()[0] for body in made["machines"].values()]
    assert tags == ["tags=compute_sriov"] * 2 + ["tags=controller"] + ["tags=compute_sriov"] * 2
    compute = made["applications"]["nova-compute"]
    assert (compute["num_units"], compute["to"]) == (4, ["0", "1", "3", "4"])


def test_the_intent_is_included_from_where_the_overlay_is(written, site):
    (site.parent / "fabric.yaml").write_text((ROOT / "charms/cumulus-fabric/examples/rdg.yaml").read_text())
    path = written((f"{ROOT}/charms/cumulus-fabric/examples/rdg.yaml", "fabric.yaml"))
    assert options(path, "cumulus-fabric") == {"intent": "include-file://fabric.yaml"}


def test_vlan_ranges_are_the_intents_networks_without_a_space(written, site):
    intent = site.parent / "fabric.yaml"
    networks = {f"tenant{vlan}": {"vlan": vlan} for vlan in (103, 101, 102, 200)}
    intent.write_text(yaml.safe_dump({"networks": {**networks, "oam": {"vlan": 9, "space": "oam-space"}}}))
    path = written((f"{ROOT}/charms/cumulus-fabric/examples/rdg.yaml", "fabric.yaml"))
    assert options(path, "neutron-api") == {"vlan-ranges": "tenantvlan:101:103 tenantvlan:200:200"}


def test_vlan_ranges_have_the_intents_provider_vlans(written, site):
    intent = site.parent / "fabric.yaml"
    content = {
        "networks": {"alone": {"vlan": 101}},
        "provider-vlans": {"vlans": "102-110,300", "vni-base": 5},
    }
    intent.write_text(yaml.safe_dump(content))
    path = written((f"{ROOT}/charms/cumulus-fabric/examples/rdg.yaml", "fabric.yaml"))
    assert options(path, "neutron-api") == {"vlan-ranges": "tenantvlan:101:110 tenantvlan:300:300"}


def test_without_an_intent_the_fabric_charm_is_not_touched(written):
    path = written((f"intent: {ROOT}/charms/cumulus-fabric/examples/rdg.yaml", "#"))
    assert not {"cumulus-fabric", "neutron-api"} & yaml.safe_load(path.read_text())["applications"].keys()


def test_of_two_physical_networks_the_second_is_for_administrators(written):
    path = written(("[none, tenantvlan]", "[tenantvlan, storagevlan]"))
    assert options(path, "neutron-api") == {"vlan-ranges": "tenantvlan:101:101 storagevlan"}
    assert options(path, "ovn-chassis")["ovn-bridge-mappings"] == "tenantvlan:br-nvda storagevlan:br-nvda"
    assert [entry.get("physical_network") for entry in whitelist(path)] == ["tenantvlan", "storagevlan", None]


def test_names_that_differ_between_hosts_are_refused_with_what_to_write(site, run):
    edit(site, NODE2, OTHER2)
    said = run("overlay", expected=2)
    assert "node1 has enp63s0f0, enp63s0f1; node2 has enp175s0f0np0, enp175s0f1np1" in said
    assert "write addresses or vf-product in the tag" in said


def test_where_names_differ_addresses_select(written):
    addresses = 'addresses: ["0000:3f:00.0", "0000:3f:00.1"]'
    path = written((NODE2, OTHER2), ("physnets:", f"{addresses}\n    physnets:"))
    assert whitelist(path)[:2] == [
        {"address": "0000:3f:00.0", "physical_network": None},
        {"address": "0000:3f:00.1", "physical_network": "tenantvlan"},
    ]
    for charm in ("nic-firmware", "sriov-switchdev", "roce-qos"):
        assert options(path, charm) == {"devices": "0000:3f:00.0 0000:3f:00.1"}


def test_where_addresses_differ_too_the_product_selects(written):
    path = written(
        (NODE2, OTHER2), ("physnets: [none, tenantvlan]", "vf-product: 101e\n    physnets: [none, none]")
    )
    assert whitelist(path)[0] == {"vendor_id": "15b3", "product_id": "101e", "physical_network": None}
    devices = "enp63s0f0 enp63s0f1 enp175s0f0np0 enp175s0f1np1"
    assert options(path, "sriov-switchdev") == {"devices": devices}


def test_an_older_site_file_still_gives_machines_and_cpus(written):
    """Without the keys that were added for the overlay."""
    path = written(
        ("    physnets: [none, tenantvlan]\n", ""),
        ('    passthrough: ["10de:20f1"] # A100\n', ""),
        (f"intent: {ROOT}/charms/cumulus-fabric/examples/rdg.yaml", "#"),
    )
    made = yaml.safe_load(path.read_text())
    assert made["machines"] == EXAMPLE["machines"]
    assert made["applications"].keys() == {"nova-compute", "neutron-api-plugin-ovn"}
    assert options(path, "nova-compute") == {"cpu-dedicated-set": "2-23", "reserved-host-memory": 32768}


def test_an_intent_that_is_not_there_is_said(site, run):
    edit(site, "examples/rdg.yaml", "examples/none.yaml")
    said = run("overlay", expected=2)
    assert said.startswith("intent of the site file: ")
    assert "none.yaml cannot be read: No such file or directory; its path starts at the site file's " in said


def test_a_place_that_cannot_be_written_is_said(run, tmp_path):
    assert "/none/x.yaml cannot be written: No such" in run(
        "overlay", "--output", f"{tmp_path}/none/x.yaml", expected=2
    )


def test_what_the_overlay_is_made_from_is_never_replaced_by_it(site, run):
    before = site.read_text()
    said = run("overlay", "--output", str(site), expected=2)
    assert f"--output: the overlay is made from {site}; name another file" in said
    assert site.read_text() == before


def test_the_example_site_can_be_used_where_it_is():
    assert Path(read_site(SITE).intent).is_file()
