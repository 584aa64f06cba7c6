# SPDX-License-Identifier: Apache-2.0
"""The MAAS command against a simulated region: plan, apply, verify."""

import pytest
from lab.maas import KEY, RefusedError
from lab.maassite import NUMA, PASSWORD, PORTS, commission, edit, equip, interfaces, machine, writes
from maas.client import Maas
from maas.plan import observe, plan
from maas.sitefile.reader import read_site

ALL = "networks: [oam-space, public-space, internal-space, overlay-space]"
WITHOUT_OVERLAY = "networks: [oam-space, public-space, internal-space]"


def test_plan_shows_every_step_and_writes_nothing(maas, run):
    said = run("plan")
    for step in (
        "name of fabric to fabric-high-speed",
        "create space overlay-space",
        "mtu of VLAN 0 to 9000",
        "create VLAN 40",
        "create subnet 172.16.0.0/24",
        "create reserved range 10.7.208.65-10.7.208.99",
        "turn DHCP on for VLAN 0",
        "create tag compute_sriov",
        "create machine node1",
        "tag node1 as compute_sriov",
    ):
        assert step in said
    assert writes(maas) == []


def test_apply_makes_the_networks_of_the_site(built):
    vlans = {v["vid"]: v for v in built.vlans}
    assert {vid: (v["name"], v["mtu"], v["space"], v["dhcp_on"]) for vid, v in vlans.items()} == {
        0: ("untagged", 9000, "oam-space", True),
        9: ("v9-public", 9000, "public-space", False),
        10: ("v10-internal", 9000, "internal-space", False),
        40: ("v40-overlay", 9000, "overlay-space", False),
    }
    assert {f["name"] for f in built.fabrics} == {"fabric-high-speed"}
    subnets = {s["cidr"]: (s["name"], s["vlan"]["vid"], s["gateway_ip"]) for s in built.subnets}
    assert subnets["192.168.25.0/24"] == ("pxe-oam-subnet", 0, "192.168.25.1")
    assert subnets["172.16.0.0/24"] == ("overlay-subnet", 40, None)
    assert built.config["upstream_dns"] == "8.8.8.8"


def test_the_tag_has_the_rdgs_kernel_options_with_the_dedicated_cpus(built):
    assert next(t for t in built.tags if t["name"] == "compute_sriov")["kernel_opts"] == (
        "default_hugepagesz=1G hugepagesz=1G hugepages=96 "
        "intel_iommu=on iommu=pt blacklist=nouveau rd.blacklist=nouveau isolcpus=2-23"
    )


def test_machines_are_known_tagged_and_not_powered_on(maas, run):
    run("apply")
    node1 = machine(maas, "node1")
    assert (node1["tag_names"], node1["min_hwe_kernel"], node1["status_name"]) == (
        ["compute_sriov"],
        "hwe-22.04",
        "New",
    )
    assert maas.power[node1["system_id"]] == {
        **{"power_driver": "LAN_2_0", "power_address": "192.168.0.11"},
        **{"power_user": "root", "power_pass": PASSWORD},
    }


def test_a_machine_that_was_not_commissioned_is_said_with_its_remedy(run):
    run("apply")
    said = run("verify", expected=1)
    assert "its ports enp63s0f0, enp63s0f1 are not known yet" in said
    assert "commission it: pipx run tox -e maas -- commission SITE --power-on" in said


def test_ports_that_maas_knows_by_other_names_are_named_instead_of_asking_for_commissioning(maas, run):
    """The name depends on the kernel that looked: the site file has one, commissioning found another."""
    run("apply")
    commission(maas, "node1", ["enp63s0f0np0", "enp63s0f1np1"])
    said = next(line for line in run("verify", expected=1).splitlines() if "node1 " in line)
    known = "its ports enp63s0f0, enp63s0f1 are known under other names: enp63s0f0np0, enp63s0f1np1"
    assert known in said
    assert "write the names that MAAS knows in the site file" in said
    assert "commission" not in said


def test_ports_of_which_maas_knows_nothing_alike_are_told_with_those_that_it_knows(maas, run):
    run("apply")
    commission(maas, "node1", ["enp63s0f0", "eno1"])
    said = run("verify", expected=1)
    assert "its ports enp63s0f1 are not among those that MAAS knows: eno1" in said


def test_a_machine_that_is_being_commissioned_is_waited_for(maas, run):
    run("apply")
    machine(maas, "node1")["status_name"] = "Testing"
    maas.busy["node1"] = 9
    said = run("verify", expected=1)
    assert "its ports enp63s0f0, enp63s0f1 are not known yet: it is Testing  wait, then apply again" in said


def test_a_single_port_gets_the_bridge_and_its_vlans_without_a_bond(maas, site, run):
    text = site.read_text().replace("ports: [enp63s0f0, enp63s0f1]", "ports: [enp63s0f0]")
    site.write_text(text.replace("    bond: bond0\n", "").replace("[none, tenantvlan]", "[none]"))
    run("apply")
    for name in ("controller", "node1", "node2", "node3"):
        commission(maas, name, PORTS[:1], NUMA)
    run("apply")
    found = interfaces(maas, "node1")
    assert set(found) == {"enp63s0f0", "br-nvda", "br-nvda.9", "br-nvda.10", "br-nvda.40"}
    assert found["br-nvda"]["parents"] == ["enp63s0f0"]
    maas.requests.clear()
    assert "0 steps done" in run("apply")
    assert writes(maas) == []


def test_two_ports_become_a_bond_an_ovs_bridge_and_its_vlans(built):
    found = interfaces(built, "node1")
    assert set(found) == {*PORTS, "bond0", "br-nvda", "br-nvda.9", "br-nvda.10", "br-nvda.40"}
    assert found["bond0"]["parents"] == PORTS
    assert found["bond0"]["params"]["bond_mode"] == "802.3ad"
    assert found["br-nvda"]["parents"] == ["bond0"]
    assert found["br-nvda"]["params"]["bridge_type"] == "ovs"
    addresses = {
        name: [(link["mode"], link["subnet"]["cidr"]) for link in i["links"]] for name, i in found.items()
    }
    assert addresses == {
        **{"enp63s0f0": [], "enp63s0f1": [], "bond0": [], "br-nvda": [("auto", "192.168.25.0/24")]},
        **{"br-nvda.9": [("auto", "10.7.208.0/24")], "br-nvda.10": [("auto", "172.18.0.0/24")]},
        "br-nvda.40": [("auto", "172.16.0.0/24")],
    }


def test_the_juju_controller_has_its_vlan_on_the_port(built):
    assert set(interfaces(built, "controller")) == {"enp63s0f0", "enp63s0f0.9"}


def test_a_second_run_writes_nothing(built, run):
    built.requests.clear()
    assert "0 steps done" in run("apply")
    assert writes(built) == []
    assert "Nothing to do" in run("plan")
    assert "No finding: MAAS is as the site file says" in run("verify")


def test_only_what_differs_is_written(built, site, run):
    edit(site, "dedicated-cpus: 2-23", "dedicated-cpus: 4-23")
    built.requests.clear()
    run("apply")
    ((method, path, data),) = writes(built)
    assert (method, path, set(data)) == ("PUT", "tags/compute_sriov/", {"kernel_opts"})


def test_a_changed_password_is_written_and_never_shown(built, tmp_path, run):
    (tmp_path / "bmc-password").write_text("another\n")
    said = run("plan")
    assert "set power_parameters_power_pass of machine node1" in said
    assert "another" not in said
    run("apply")
    assert built.power[machine(built, "node1")["system_id"]]["power_pass"] == "another"


@pytest.mark.parametrize("number", range(1, 29))
def test_a_fault_at_any_write_is_said_and_the_next_run_finishes(maas, run, number):
    maas.faults[number] = "The region is restarting."
    said = run("apply", expected=1)
    assert "MAAS answers 503" in said
    assert "The region is restarting." in said
    assert "steps done" in run("apply")
    assert "not yet" not in run("verify", expected=1)


@pytest.mark.parametrize(
    ("failing", "waiting"),
    [
        ("space overlay-space", ["space overlay-space", "VLAN 40", "subnet 172.16.0.0/24"]),
        ("VLAN 9", ["VLAN 9", "subnet 10.7.208.0/24", "reserved range 10.7.208.65-10.7.208.99"]),
        ("subnet 10.7.208.0/24", ["subnet 10.7.208.0/24", "reserved range 10.7.208.65-10.7.208.99"]),
        (
            "dynamic range 192.168.25.200-192.168.25.250",
            ["dynamic range 192.168.25.200-192.168.25.250", "DHCP of VLAN 0"],
        ),
        ("tag controller", ["tag controller", "machine node3 tag"]),
        ("DNS", ["DNS"]),
    ],
)
def test_only_what_needs_a_step_that_failed_waits_for_it(maas, site, run, failing, waiting):
    keys = [step.key for step in plan(read_site(site), observed(maas, site)).steps]
    maas.requests.clear()
    maas.faults[keys.index(failing) + 1] = "The region is restarting."
    said = run("apply", expected=1)
    assert len(writes(maas)) == len(keys) + 1 - len(waiting)
    if rest := waiting[1:]:
        assert f"Not tried, since they need what failed: {', '.join(rest)}." in said
    else:
        assert "Not tried" not in said
    assert f"{len(keys) - len(waiting)} of {len(keys)} steps done." in said
    left = plan(read_site(site), observed(maas, site)).steps
    assert [step.key for step in left] == [key for key in keys if key in waiting]
    run("apply")
    assert plan(read_site(site), observed(maas, site)).steps == ()


def test_the_network_of_a_machine_is_made_though_its_power_settings_are_refused(maas, run, tmp_path):
    run("apply")
    equip(maas)
    for finish in maas.hardware.values():
        finish()
    (tmp_path / "bmc-password").write_text("another\n")
    maas.put_machines = refusing
    said = run("apply", expected=1)
    assert said.count("its BMC does not answer") == 4
    assert "br-nvda.40" in interfaces(maas, "node1")


def refusing(*_):
    raise RefusedError(503, "its BMC does not answer")


def observed(maas, site):
    return observe(Maas("http://192.168.25.1:5240/MAAS", KEY), read_site(site))


def test_a_look_takes_fifteen_requests_however_many_machines_there_are(built, run):
    """Nine lists, two settings, the list of images, the two that machines need, and those of the rack."""
    built.requests.clear()
    run("plan")
    assert len(built.requests) == 15


def test_nothing_is_deleted(built, site, run):
    edit(site, ALL, WITHOUT_OVERLAY)
    run("apply")
    assert "br-nvda.40" in interfaces(built, "node1")


def test_a_bond_of_another_mode_is_set_right(built, run):
    interfaces(built, "node1")["bond0"]["params"]["bond_mode"] = "active-backup"
    assert "set bond_mode of node1/bond0 to 802.3ad" in run("plan")
    run("apply")
    assert interfaces(built, "node1")["bond0"]["params"]["bond_mode"] == "802.3ad"


def test_a_value_that_maas_took_and_did_not_keep_is_said(maas, run, monkeypatch):
    monkeypatch.setattr(maas, "put_vlans", lambda data, vlan: {**vlan, "mtu": 1500})
    said = run("apply", expected=1)
    assert "failed to set mtu of VLAN 0" in said
    assert "MAAS took the request, but" in said


def test_a_bond_of_other_ports_is_held(built, run):
    interfaces(built, "node1")["bond0"]["parents"] = ["enp1s0"]
    said = run("verify", expected=1)
    assert "bond0 has ports enp1s0, not enp63s0f0, enp63s0f1" in said


def test_a_second_port_on_another_fabric_joins_the_first_before_the_bond(maas, run):
    run("apply")
    commission(maas, "node1", PORTS, NUMA)
    run("apply")
    paths = [path for method, path, _ in writes(maas) if "interfaces" in path]
    assert paths[0].count("/") == 4
    assert interfaces(maas, "node1")["enp63s0f1"]["vlan"]["vid"] == 0


def test_a_machine_that_booted_before_the_fabric_had_its_name_is_not_moved(maas, run):
    maas.post_machines({"hostname": "node1", "architecture": "amd64/generic", "commission": False})
    commission(maas, "node1", PORTS, NUMA)
    run("apply")
    moved = [path for method, path, _ in writes(maas) if method == "PUT" and "interfaces" in path]
    first, second = (interfaces(maas, "node1")[port]["id"] for port in PORTS)
    assert [path.split("/")[-2] for path in moved] == [str(second)] != [str(first)]


def test_ports_of_two_nics_are_warned_about(maas, run):
    run("apply")
    commission(maas, "node1", PORTS, NUMA, slots={"enp63s0f1": "0000:af:00.0"})
    said = run("apply")
    assert "its ports are not on one ConnectX (enp63s0f0 is 0000:3f:00, enp63s0f1 is 0000:af:00)" in said


def test_dead_links_foreign_cpus_and_huge_huge_pages_are_named(built, run):
    interfaces(built, "node1")["enp63s0f1"]["link_connected"] = False
    for port in PORTS:
        interfaces(built, "node1")[port]["numa_node"] = 1
    machine(built, "node2")["memory"] = 65536
    said = run("verify", expected=1)
    assert "enp63s0f1 has no link" in said
    assert "are not on NUMA node 1, where its ports are" in said
    assert "96 GiB of huge pages leave nothing of its 64 GiB" in said


def test_arm64s_name_of_passthrough_is_passthrough(built, run, site):
    edit(site, "intel_iommu=on iommu=pt", "iommu.passthrough=1")
    assert "has no iommu=pt" not in run("verify", expected=1)


def test_what_slows_instances_down_is_advised_and_changes_nothing(built, run, site):
    edit(site, "intel_iommu=on iommu=pt", "intel_iommu=on")
    machine(built, "node1")["numanode_set"] = [
        {"index": 0, "cores": list(range(2, 24)), "memory": 40960},
        {"index": 1, "cores": [], "memory": 221184},
    ]
    said = run("verify", expected=1)
    assert "tag compute_sriov has no iommu=pt" in said
    assert "its dedicated CPUs leave none for the host and its containers" in said
    assert "NUMA node 0 has 40960 MiB, not its share of 48 GiB of huge pages" in said
    assert "blocked" not in said


@pytest.mark.parametrize(("memory", "advised"), [(49152, True), (65536, False), (0, False)])
def test_huge_pages_that_leave_the_host_too_little_are_named(built, run, memory, advised):
    """MAAS has 0 where it does not know a node's memory."""
    nodes = [{"index": index, "cores": [], "memory": memory} for index in (0, 1)]
    machine(built, "node1")["numanode_set"] = nodes
    said = run("verify")
    assert ("huge pages of 98304 MiB and the " in said) == advised
    assert (" MiB of the host exceed its 98304 MiB" in said) == advised


def test_a_stranger_with_a_tag_of_the_site_is_named(built, run):
    stray = {"hostname": "stray", "architecture": "amd64/generic", "commission": False}
    built.post_machines(stray)["tag_names"].append("controller")
    assert "it has tag controller and is not in the site file" in run("verify")


def test_a_region_that_is_not_on_the_first_network_is_named(run, maas):
    maas.__init__()
    said = run("plan", expected=2)
    assert "MAAS has neither fabric fabric-high-speed nor subnet 192.168.25.0/24" in said
    assert len(said.splitlines()) == 1
