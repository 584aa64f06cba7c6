# SPDX-License-Identifier: Apache-2.0
"""`tox -e juju -- adopt`: what it makes of clouds that offload by hand, and of others. It writes nothing."""

import re

import pytest
import yaml
from check import checker
from lab.juju import deployed
from operate.__main__ import main
from operate.adopt import text
from operate.adopt.adoption import adoption
from operate.adopt.hypervisors import vfs_of
from operate.clouds import (
    ADOPTABLE,
    CLOUDS,
    ITS_OWN,
    UNKNOWN,
    VFS,
    asked,
    client,
    cloud,
    commands,
    on_the_model,
    overlay,
    printed,
    section,
    told,
)

BY_UNITS = ("number", "mapped", "unset", "auto")
"""Clouds whose sriov-numvfs is about every port of a host."""
PRINTED = (
    "150-charm-ovn.yaml: ovn-chassis sets VFs too; run: juju config ovn-chassis sriov-numvfs={}; existing"
)

# What it says of a cloud that offloads by hand, as upstream's guide sets it up.


def test_the_steps_lead_from_ovn_chassis_to_these_charms_in_the_safe_order():
    said = told("listed")
    assert commands(said) == [
        [
            *("juju", "deploy", "./build/sriov-switchdev_ubuntu@22.04-amd64.charm", "sriov-switchdev"),
            *("--config", "num-vfs=8", "--config", f"devices={VFS}", "--bind", "internal-space"),
        ],
        ["juju", "integrate", "sriov-switchdev", "nova-compute"],
        ["juju", "status", "sriov-switchdev"],
        ["juju", "config", "ovn-chassis", "sriov-numvfs=none:0"],
        ["juju", "run", "sriov-switchdev/leader", "plan"],
        ["pipx", "run", "tox", "-e", "juju", "--", "verify"],
    ]


def test_it_says_what_would_be_owned_what_stays_and_what_the_first_reboot_changes():
    said = told("listed")
    owned = " ".join(" ".join(section(said, "What these charms own")).split())
    for words in (
        "enp63s0f0 with 8 VFs, enp63s0f1 with 8 VFs ovn-chassis",
        "reboots after approve-reboot, of machines 0, 1",
        "nic-firmware firmware parameters, if you add it: docs/how-to/adopt.md the operator",
        "roce-qos QoS of running ports, if you add it: docs/how-to/set-up-roce.md the operator",
        "cumulus-fabric what its intent says of the switches, if you add it: docs/explanation/fabric-own",
    ):
        assert words in owned
    stays = " ".join(" ".join(section(said, "What stays as it is")).split())
    assert '"devname": "enp63s0f0"' in stays
    reboot = "\n".join(section(said, "What the first reboot of a node changes"))
    assert "Containers of mysql-innodb-cluster, ovn-central are on machines 0, 1" in reboot
    assert ["juju", "run", "sriov-switchdev/leader", "list-devices"] in commands(
        said, "What Juju does not know"
    )


@pytest.mark.parametrize("name", sorted({*CLOUDS} - {"malformed"}))
def test_it_fits_a_terminal_and_does_nothing_but_read(name):
    said, calls = asked(name)
    assert max(map(len, said.splitlines())) <= 160
    assert {call[0] for call in calls} == {"status", "config"}
    assert not [word for call in calls for word in call if "=" in word]


def test_a_user_who_may_only_read_is_refused_by_the_client_that_stands_in_for_jujus(world):
    """So the tests here would see a command that writes."""
    world.change(access="read")
    said = world.run(main, "secret", "--credentials", world.private("switches", "a:b\n"), expected=2)
    assert "permission denied" in said


@pytest.mark.parametrize("name", sorted(set(ADOPTABLE) - ITS_OWN))
def test_with_the_overlay_the_exported_model_has_no_error(name):
    said = told(name)
    if name.startswith(("adopted", "keeps")):
        assert "The overlay" not in said
        return
    assert _errors(said, name) == []


def _errors(said, name):
    """List the errors in the model with the overlay; the rest of ovn-chassis' VFs is set by hand there."""
    found = checker.check(on_the_model(said, name))
    by_hand = name in BY_UNITS
    return [str(each) for each in found if not each.warning and not (by_hand and each.rule == "vf-owner")]


@pytest.mark.parametrize("name", [*ADOPTABLE, "without-neutrons-option"])
def test_the_commands_and_the_overlay_set_the_same_options(name):
    said = told(name)
    typed = {}
    for words in commands(said):
        if words[:2] == ["juju", "config"]:
            typed.setdefault(words[2], set()).update(words[3:])
        elif words[:2] == ["juju", "deploy"]:
            typed[words[3]] = {words[at + 1] for at, word in enumerate(words) if word == "--config"}
    bodies = (yaml.safe_load(overlay(said)) or {}).get("applications", {}) if "The overlay" in said else {}
    set_there = {
        application: {f"{key}={'true' if value is True else value}" for key, value in body["options"].items()}
        for application, body in bodies.items()
        if body
    }
    assert typed == set_there


def test_the_overlay_relates_the_charms_to_the_hypervisors():
    bundle = on_the_model(told("listed"), "listed")
    ours = bundle.applications["sriov-switchdev"]
    assert [each.name for each in bundle.related(ours, "juju-info")] == ["nova-compute"]


# Numbers of VFs in every form of sriov-numvfs.


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("number", {"num-vfs": 16}),
        ("mapped", {"num-vfs": 16, "devices": "enp63s0f0:16 enp63s0f1:16"}),
        ("unequal", {"num-vfs": 16, "devices": "enp63s0f0:16 enp63s0f1:8"}),
        ("one-sided", {"num-vfs": 64, "devices": "enp63s0f0:64 enp63s0f1:0"}),
        ("one-port", {"num-vfs": 64, "devices": "enp63s0f0:64"}),
    ],
)
def test_the_ports_keep_the_vfs_that_they_have(name, options):
    said = told(name)
    applications = yaml.safe_load(overlay(said))["applications"]
    assert applications["sriov-switchdev"]["options"] == options
    assert "nic-firmware" not in applications
    left = {"options": {"sriov-numvfs": "none:0"}}
    assert applications.get("ovn-chassis") == (None if name in BY_UNITS else left)


def test_a_single_named_port_is_said_to_need_the_other_one_for_vf_lag():
    assert "the unit asks for the other one, with :0" in " ".join(told("one-port").split())


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_number_that_ovn_chassis_does_not_say_is_to_be_read_first(name):
    said = told(name)
    assert commands(said) == [
        [
            "juju",
            "exec",
            "--application",
            "nova-compute",
            "--",
            "grep -H . /sys/class/net/*/device/sriov_numvfs",
        ],
        ["pipx", "run", "tox", "-e", "juju", "--", "adopt", "--vfs", "PORT:COUNT PORT:COUNT"],
    ]
    assert "The overlay" not in said


@pytest.mark.parametrize("name", UNKNOWN)
def test_with_the_number_the_same_clouds_get_their_steps(adopt, name):
    said = adopt(name, "--vfs", "enp63s0f0:4 enp63s0f1:4")
    applications = yaml.safe_load(overlay(said))["applications"]
    assert applications["sriov-switchdev"]["options"] == {"num-vfs": 4, "devices": "enp63s0f0:4 enp63s0f1:4"}
    assert _errors(said, name) == []


@pytest.mark.parametrize(("name", "today"), [("unset", "ovn-chassis"), ("scripted", "the operator")])
def test_who_creates_the_vfs_today_is_said(name, today):
    """With none:0 it is not ovn-chassis."""
    assert re.search(rf"VFs, eswitch modes and queues on nova-compute: .*  {today}$", told(name), re.M)


def test_ports_that_the_whitelist_does_not_name_may_be_of_other_nics(adopt):
    again = ["pipx", "run", "tox", "-e", "juju", "--", "adopt", "--vfs", VFS]
    said = told("another-nic")
    assert "The whitelist of nova-compute names no eno1." in " ".join(said.split())
    assert commands(said)[0] == again
    said = adopt("another-nic", *again[-2:])
    assert ["juju", "config", "ovn-chassis", "sriov-numvfs=eno1:4"] in commands(said)
    assert again not in commands(told("listed"))


def test_ports_of_other_nics_stay_with_ovn_chassis(adopt):
    said = adopt("listed", "--vfs", "enp63s0f0:8")
    assert ["juju", "config", "ovn-chassis", "sriov-numvfs=enp63s0f1:8"] in commands(said)


@pytest.mark.parametrize(
    "value", ["enp63s0f0", "many", "-1", "a:b:c", "0", "none:0", "a:99999999", "1001", "a:8 a:9"]
)
def test_a_wrong_number_is_refused_in_one_sentence(adopt, value):
    said = adopt("auto", f"--vfs={value}", expected=2)
    assert said.startswith(f"--vfs is '{value}'")
    assert said.count("\n") == 1


def test_an_option_that_ovn_chassis_cannot_read_either_is_named_with_its_value(adopt):
    said = adopt("malformed", expected=2)
    assert said.startswith("ovn-chassis: sriov-numvfs is 'enp63s0f0=8'; write a number")


# VFs of other NICs, which only the units see where sriov-numvfs names no ports.


@pytest.mark.parametrize("name", BY_UNITS)
def test_what_the_hosts_alone_know_is_not_said_before_they_do(adopt, name):
    """A number and auto are for every port: none:0 would take the VFs of other makers' NICs away."""
    said = told(name) if name not in UNKNOWN else adopt(name, "--vfs", VFS)
    assert "none:0" not in said
    found = commands(said)
    at = found.index(["juju", "status", "sriov-switchdev"])
    assert found[at + 1] == ["pipx", "run", "tox", "-e", "juju", "--", "adopt"]
    assert "Type the command that it has" in " ".join(said.split())


@pytest.mark.parametrize(
    ("printed_by_units", "typed"),
    [
        (["none:0", "none:0"], "none:0"),
        (['"eno1:8"', '"eno1:8"'], "eno1:8"),
        (['"eno1:8 eno2:4"', "none:0"], "eno1:8 eno2:4"),
        (['"eno1:8"', '"ens2f0:4"'], "eno1:8 ens2f0:4"),
        (['"eno1:8"', "nothing yet"], "eno1:8"),
        (['"eno1:8"', '"eno1:4"'], None),
        (["nothing", "nothing"], None),
        (['"eno1:8 eno2:4 ens2f0:4 ens2…', "nothing"], None),  # a status that was cut
    ],
)
@pytest.mark.parametrize("numvfs", ["8", "auto"])
def test_it_says_what_the_units_say(numvfs, printed_by_units, typed):
    model = cloud("half")
    model["config"]["ovn-chassis"]["sriov-numvfs"] = numvfs
    for number, value in enumerate(printed_by_units):
        unit = model["status"]["applications"]["nova-compute"]["units"][f"nova-compute/{number}"]
        status = {"current": "blocked", "message": PRINTED.format(value)}
        unit["subordinates"][f"sriov-switchdev/{number}"]["workload-status"] = status
    found, _ = client(model)
    said = text.text("m", adoption(found, vfs_of(VFS)))
    config = [words[3:] for words in commands(said) if words[:3] == ["juju", "config", "ovn-chassis"]]
    assert config == ([[f"sriov-numvfs={typed}"]] if typed else [])


@pytest.mark.parametrize(
    ("charm", "says"),
    [
        ("vault", "a Vault is sealed after a reboot, unless it unseals itself. Have its keys ready"),
        ("ceph-osd", "without noout, Ceph moves the data of OSDs that are down"),
    ],
)
def test_whom_a_reboot_harms_is_named_with_its_machines(charm, says):
    model = cloud("listed")
    body = {**model["status"]["applications"]["vault"], "charm-name": charm, "charm": charm}
    body["units"] = {
        f"victim/{number}": {"machine": place} for number, place in enumerate(("0", "1/lxd/9", "2"))
    }
    model["status"]["applications"]["victim"] = body
    lines = " ".join(" ".join(section(printed(model)[0], "What the first reboot of a node changes")).split())
    assert f"- victim on machines 0, 1: {says}" in lines


# Other hypervisors, and clouds with nothing to adopt.


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("kvm", "it does not offload: enable-hardware-offload is not true"),
        ("dpdk", "DPDK is on (enable-dpdk), which excludes hardware offload"),
        ("sriov-agent", "the SR-IOV agent is on (enable-sriov), which excludes hardware offload"),
        ("focal", "it is on ubuntu@20.04, and these charms are built for ubuntu@22.04, ubuntu@24.04"),
    ],
)
def test_other_hypervisors_stay_and_no_step_touches_them(name, why):
    said = told(name)
    assert re.search(rf"^nova-compute-b with ovn-chassis-b +{re.escape(why)}$", said, re.M)
    assert not [word for words in commands(said) for word in words if re.search(r"-b\b", word)]


def test_hypervisors_without_vfs_stay_also_if_they_share_an_ovn_chassis_with_those_that_offload():
    """On them, no unit would ever name ovn-chassis, which the operator is to wait for."""
    said = told("one-chassis")
    assert re.search(r"^nova-compute-b with ovn-chassis +it offers no VFs to instances$", said, re.M)
    assert not [word for words in commands(said) for word in words if "nova-compute-b" in word]
    assert ["juju", "config", "ovn-chassis", "sriov-numvfs=none:0"] in commands(said)


def test_an_ovn_chassis_of_octavia_stays():
    said = told("octavia")
    assert re.search(r"^octavia-ovn-chassis +it serves no hypervisor$", said, re.M)
    assert commands(said) == commands(told("listed"))


def test_gateways_of_their_own_stay():
    assert re.search(r"^ovn-dedicated-chassis +a gateway, on which no instance runs$", told("gateways"), re.M)


def test_hypervisors_with_other_ports_get_applications_of_their_own():
    said = told("two-kinds")
    applications = yaml.safe_load(overlay(said))["applications"]
    second = applications["sriov-switchdev-nova-compute-b"]["options"]
    assert second == {"num-vfs": 32, "devices": "ens1f0:32 ens1f1:32"}
    assert applications["ovn-chassis-b"] == {"options": {"sriov-numvfs": "none:0"}}
    bundle = on_the_model(said, "two-kinds")
    ours = bundle.applications["sriov-switchdev-nova-compute-b"]
    assert [each.name for each in bundle.related(ours, "juju-info")] == ["nova-compute-b"]


def test_applications_of_other_models_are_named_where_they_matter():
    said = told("elsewhere")
    assert "neutron-api is in another model: its enable-hardware-offload has to be true there." in said
    assert not [words for words in commands(said) if "neutron-api" in words]


def test_what_neutron_and_nova_lack_is_a_step_or_told():
    said = told("without-neutrons-option")
    assert ["juju", "config", "neutron-api", "enable-hardware-offload=true"] in commands(said)
    found = "\n".join(section(said, "What the checker finds with it"))
    assert re.search(r"^scheduler-filter .* has no +Add PciPassthroughFilter", found, re.M)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no-offload", "it does not offload"),
        ("no-network", "it has no network charm, and these charms need ovn-chassis"),
    ],
)
def test_a_cloud_without_offload_is_told_why_there_is_nothing_to_adopt(name, why):
    said = told(name)
    assert why in said
    assert "there is nothing to adopt" in said
    assert "juju " not in said


# Clouds where these charms are already.


@pytest.mark.parametrize("name", ADOPTABLE)
def test_with_the_overlay_nothing_is_left(name):
    said = told(name)
    if "The overlay" in said:
        told_by_units = {"sriov-switchdev": PRINTED.format("none:0")} if name in BY_UNITS else {}
        model = deployed.recorded(on_the_model(said, name), said=told_by_units)
        if name in BY_UNITS:  # as a step had it typed
            model["config"]["ovn-chassis"]["sriov-numvfs"] = "none:0"
        said, _ = printed(model)
    assert "No step is left: what offloads is adopted." in said
    assert not [
        title for title in ("Steps, in this order", "The overlay", "What the first reboot") if title in said
    ]


def test_charms_that_serve_other_machines_stay_as_they_are():
    """The new applications get names of their own."""
    new = {
        name: body
        for name, body in yaml.safe_load(overlay(told("second-kind")))["applications"].items()
        if body
    }
    assert sorted(new) == ["ovn-chassis-b", "sriov-switchdev-nova-compute-b"]
    new = {
        name: body
        for name, body in yaml.safe_load(overlay(told("controllers")))["applications"].items()
        if body
    }
    assert sorted(new) == ["ovn-chassis", "sriov-switchdev"]


def test_a_charm_that_is_on_the_machines_with_another_application_is_not_related_a_second_time():
    """Two units of it would write the same files."""
    said = told("storage-firmware")
    about = [words for words in commands(said) if "nic-firmware" in " ".join(words) and words[1] != "run"]
    assert about == [["juju", "config", "nic-firmware", "reboot-owner=sriov-switchdev"]]


def test_who_followed_nic_firmwares_readme_is_told_to_change_the_owner_of_reboots():
    said = told("readme")
    assert ["juju", "config", "nic-firmware", "reboot-owner=sriov-switchdev"] in commands(said)
    assert not [words for words in commands(said) if words[1] == "deploy" and "nic-firmware" in words[2]]


def test_why_nic_firmware_gets_another_number_of_vfs_is_said():
    """It lowers none in the firmware: both charms are only to name the same number."""
    said = told("more-in-firmware")
    assert ["juju", "config", "nic-firmware", "num-vfs=8", "reboot-owner=sriov-switchdev"] in commands(said)
    why = "nic-firmware is beside sriov-switchdev, which counts the VFs, and requests one reboot for both."
    now = "Now num-vfs is 16, reboot-owner is self; its action query shows the value of each NIC beside that"
    assert f"{why} {now} of the next boot." in " ".join(said.split())


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("half", ["juju", "config", "sriov-switchdev", "num-vfs=8", f"devices={VFS}"]),
        ("half-named", ["juju", "config", "sriov-switchdev", "num-vfs=8", f"devices={VFS}"]),
        ("half-by-address", ["juju", "status", "sriov-switchdev"]),
    ],
)
def test_what_is_left_is_said_when_the_charms_are_half_there(name, first):
    found = commands(told(name))
    assert found[0] == first
    assert found[-6:-3] == [
        ["juju", "status", "sriov-switchdev"],
        ["juju", "config", "ovn-chassis", "sriov-numvfs=none:0"],
        ["juju", "config", "nic-firmware", "reboot-owner=sriov-switchdev"],
    ]


@pytest.mark.parametrize(
    ("policy", "said"), [("manual", "no node reboots without"), ("always", "nodes may reboot")]
)
def test_what_makes_nodes_reboot_is_said_as_the_charm_has_it(world, policy, said):
    model = cloud("half")
    model["config"]["sriov-switchdev"]["reboot-policy"] = policy
    world.change(models={"maas-controller:openstack": model})
    assert f"sriov-switchdev has reboot-policy={policy}: {said}" in " ".join(world.run(main, "adopt").split())


def test_a_charm_that_is_on_no_machine_yet_is_related_and_not_deployed_again():
    said = told("unrelated")
    assert commands(said)[0][:2] == ["juju", "config"] or commands(said)[0][1] == "integrate"
    assert ["juju", "integrate", "sriov-switchdev", "nova-compute"] in commands(said)
    assert not [words for words in commands(said) if words[1] == "deploy" and "sriov-switchdev" in words[2]]
