# SPDX-License-Identifier: Apache-2.0
"""How `tox -e juju -- adopt` reads a model: through Juju's client, of each release, with its refusals."""

import pytest
from check.merge import Part, merge, parse
from check.model import Bundle
from operate import running
from operate.__main__ import main
from operate.clouds import BUNDLE, OURS, asked, client, cloud, commands, printed, section, told

# What is read.


def test_what_the_units_say_now_is_shown_once_with_how_many_say_it():
    """It has the value that ovn-chassis is to get."""
    told = "150-charm-ovn.yaml: ovn-chassis sets VFs too; run: juju config ovn-chassis sriov-numvfs=none:0"
    model = cloud("half", **{"sriov-switchdev": told, "vault": "sealed"})
    lines = section(printed(model)[0], "What their units say now")
    assert [line.split("  ")[0] for line in lines] == ["unit", "sriov-switchdev/0 and 1 more"]
    assert lines[1].endswith(told)


def test_a_file_of_this_machine_that_an_option_names_is_not_read(world):
    """`include-file://` is for bundles; here it is whatever somebody wrote into the model."""
    world.private("secret", "hidden words")
    model = cloud("listed")
    model["config"]["nova-compute"]["pci-passthrough-whitelist"] = "include-file://secret"
    assert "hidden words" not in printed(model)[0]


@pytest.mark.parametrize("name", ["kvm", "elsewhere", "adopted", "two-databases"])
def test_the_model_is_read_as_the_bundle_that_was_deployed(name):
    """Options that somebody has set, places, spaces and relations; a default is nobody's setting."""
    model = cloud(name)
    documents = [Part(BUNDLE, each) for each in parse(model["export"], name)]
    deployed, read = Bundle(merge(documents), documents), client(model)[0].bundle()
    assert {frozenset(map(str, ends)) for ends, _ in read.written} == {
        frozenset(map(str, ends)) for ends, _ in deployed.written
    }
    assert read.applications.keys() == deployed.applications.keys()
    for each in read.applications.values():
        other = deployed.applications[each.name]
        assert (each.charm, each.base, sorted(read.units(each), key=str)) == (
            *(other.charm, other.base),
            sorted(deployed.units(other), key=str),
        )
        assert all(each.space(end) == other.space(end) for end in other.section("bindings"))
        if each.charm in (*running.CONFIGURED, *OURS):
            assert each.section("options") == other.section("options")


# Juju's client: releases, permissions, names.


def test_juju_4_is_read_like_3():
    """Its controllers may export no bundle."""
    assert cloud("listed", "4.0.1")["export"] is None
    assert asked("listed", "4.0.1")[0] == told("listed")


@pytest.mark.parametrize("version", ["2.9.51", "3.5.7", "None", ""])
def test_a_release_of_juju_that_is_too_old_is_said(adopt, version):
    said = adopt("listed", expected=2, version=version)
    assert said.startswith(
        f"maas-controller:openstack is a model of Juju {version}, and these charms need 3.6"
    )


def test_the_model_that_was_named_is_in_every_command(adopt):
    said = adopt("listed", "--model", "maas-controller:openstack")
    for words in commands(said):
        at = words.index("-m" if words[0] == "juju" else "--model")
        assert words[at + 1] == "maas-controller:openstack"


@pytest.mark.parametrize(
    ("known", "words", "said"),
    [
        ({"access": "none"}, (), "juju status: permission denied\n"),
        ({}, ("--model", "elsewhere"), "juju status: model elsewhere not found\n"),
        (
            {"access": "no controller"},
            (),
            "juju status: No controllers registered. Please either create a new controller",
        ),
    ],
)
def test_what_the_client_refuses_is_told_in_its_words(world, known, words, said):
    world.change(models={"maas-controller:openstack": cloud("listed")}, **known)
    told = world.run(main, "adopt", *words, expected=2)
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_a_model_without_hypervisors_is_said_by_name(world):
    model = cloud("listed")
    applications = {name: body for name, body in model["status"]["applications"].items() if name == "vault"}
    model["status"] |= {"applications": applications}
    world.change(models={"maas-controller:openstack": model})
    said = world.run(main, "adopt", expected=2)
    assert said == "maas-controller:openstack has no nova-compute; name the cloud's model with --model\n"


# What is out of order in the model.


def test_units_in_error_are_to_be_mended_first():
    """Juju runs none of their hooks: ovn-chassis would go on creating VFs there."""
    model = cloud("listed")
    for number, unit in enumerate(model["status"]["applications"]["nova-compute"]["units"].values()):
        chassis = unit["subordinates"][f"ovn-chassis/{number}"]
        chassis["workload-status"] = {"current": "error", "message": 'hook failed: "config-changed"'}
    said = printed(model)[0]
    assert commands(said)[:2] == [["juju", "show-status-log", f"ovn-chassis/{number}"] for number in (0, 1)]
    assert commands(said)[2:] == commands(told("listed"))
    assert '1. Mend the units that run no hooks: ovn-chassis/0 (hook failed: "config-changed"), ovn-' in said


def test_units_whose_agent_is_lost_are_to_be_mended_first():
    """No hook runs there either, and Juju then tells nothing of the workload."""
    model = cloud("listed")
    lost = {"current": "unknown", "message": "agent lost, see 'juju show-status-log ovn-chassis/0'"}
    agent = {"current": "lost", "message": "agent is not communicating with the server"}
    chassis = model["status"]["applications"]["nova-compute"]["units"]["nova-compute/0"]["subordinates"]
    chassis["ovn-chassis/0"] |= {"workload-status": lost, "juju-status": agent}
    said = printed(model)[0]
    assert commands(said)[0] == ["juju", "show-status-log", "ovn-chassis/0"]
    assert commands(said)[1:] == commands(told("listed"))
    assert "1. Mend the units that run no hooks: ovn-chassis/0 (agent lost, see" in said


def test_units_of_other_charms_in_error_are_no_matter_of_these_charms():
    model = cloud("listed")
    vault = model["status"]["applications"]["vault"]["units"]["vault/0"]
    vault["workload-status"] = {"current": "error", "message": "hook failed"}
    assert printed(model)[0] == told("listed")


def test_other_units_on_a_hypervisor_stop_and_start_with_it():
    lines = section(told("with-storage"), "What the first reboot of a node changes")
    assert "- Other units of ceph-osd are on machines 0, 1: they stop and start with them." in lines
    assert [line for line in lines if line.startswith("- Containers of mysql-innodb-cluster, ovn-central")]
