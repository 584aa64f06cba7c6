# SPDX-License-Identifier: Apache-2.0
"""The operator's view before a reboot, and the ways to stop a roll."""

from typing import Any

import pytest
from charmkit.reboot.databag import KEY, decode_unit
from ops import testing

WHY = "8 VFs at the next boot"


def start_instance(app: Any, number: int, name: str) -> None:
    app.nodes[number].host.disk.install(f"/run/libvirt/qemu/{name}.xml", b"<domstatus/>", 0o600)


def test_an_approval_says_how_many_instances_stop_on_each_node(application: Any):
    app = application(3)
    for number in (0, 1):
        app.nodes[number].needs = (WHY,)
    start_instance(app, 0, "instance-00000001")
    start_instance(app, 1, "instance-00000002")
    start_instance(app, 1, "instance-00000003")
    app.hooks(1, 0)

    results = app.action(0, "approve-reboot")

    assert results["instances"] == "sriov/0: 1, sriov/1: 2"
    assert results["instances-here"] == "instance-00000001"
    assert results["before"] == (
        "openstack compute service set --disable --disable-reason reboot HOST nova-compute"
    )
    assert results["after"] == "openstack compute service set --enable HOST nova-compute"


def test_databags_carry_the_number_of_instances_and_no_id(application: Any):
    app = application(2)
    start_instance(app, 1, "instance-00000001")
    app.hook(1)
    idle = decode_unit(app.nodes[1].data[KEY]).instances
    app.nodes[1].needs = (WHY,)

    app.hook(1)

    assert (idle, decode_unit(app.nodes[1].data[KEY]).instances) == (0, 1)
    assert "instance-0" not in app.nodes[1].data[KEY] + app.app_data[KEY]


def test_a_plan_names_this_nodes_instances_and_its_nova_service(application: Any):
    app = application(1)
    app.nodes[0].host.disk.install("/proc/sys/kernel/hostname", b"node-7\n", 0o444)
    start_instance(app, 0, "instance-00000001")

    assert "instances" not in app.action(0, "plan"), "no reboot is needed"
    app.need(0)
    results = app.action(0, "plan")

    assert (results["instances"], results["instances-here"]) == ("sriov/0: 1", "instance-00000001")
    assert "--disable-reason reboot node-7 nova-compute" in results["before"]
    assert "plan" in results


def test_a_cancelled_roll_stops_after_the_node_under_way(application: Any):
    app = application(3)
    for number, node in enumerate(app.nodes):
        node.needs = (WHY,)
        app.hook(number)
    app.action(0, "approve-reboot")
    app.hook(0)
    first = int(app.holder[-1])
    app.hook(first)
    app.nodes[first].boot()

    results = app.action(0, "cancel-reboots")
    for _ in range(12):
        for number, node in enumerate(app.nodes):
            app.hook(number)
            node.host.sleep(60)

    assert results["under-way"] == f"sriov/{first}"
    assert (sum(app.reboots), app.holder) == (1, "")
    app.action(0, "approve-reboot")
    for _ in range(3):
        app.hooks(0, 1, 2)
    assert sum(app.reboots) == 2, "an approval lets it go on"


def test_an_approval_that_is_given_twice_is_good_for_one_reboot(application: Any):
    app = application(1)
    (node,) = app.nodes
    node.needs = (WHY,)
    app.hook(0)
    for _ in range(2):
        app.action(0, "approve-reboot")
        node.host.sleep(1)

    app.hook(0)
    node.boot(changes_nothing=True)
    for _ in range(5):
        app.hook(0)
        node.host.sleep(60)

    assert app.reboots == [1]


@pytest.mark.parametrize("mode", ["when-idle", "always"])
def test_a_cancelled_roll_stays_stopped_under_every_policy(application: Any, mode: str):
    app = application(2, mode)
    app.action(0, "cancel-reboots")
    app.nodes[0].needs = (WHY,)

    out = app.hook(0)

    assert app.reboots == [0, 0]
    assert out.unit_status == testing.BlockedStatus(
        "run: juju run sriov/leader approve-reboot; reboot: stopped by cancel-reboots; needed f… (see verify)"
    )
    app.action(0, "approve-reboot")
    app.hook(0)
    assert app.reboots == [1, 0]


def test_a_cancellation_also_withdraws_an_approval_on_another_unit(application: Any):
    app = application(2)
    app.need(1)
    app.action(1, "approve-reboot")

    assert app.action(0, "cancel-reboots") == {"withdrawn": "sriov/1", "under-way": "none"}
    app.hooks(0, 1, 0, 1)
    assert app.reboots == [0, 0]
    app.action(1, "approve-reboot")
    app.hooks(0, 1)
    assert app.reboots == [0, 1], "a later approval on the unit counts"


def test_a_cancellation_names_no_unit_that_was_not_approved(application: Any):
    app = application(2)
    app.need(0, 1)
    app.action(1, "approve-reboot")

    assert app.action(0, "cancel-reboots")["withdrawn"] == "sriov/1"


def test_only_the_leader_cancels(application: Any):
    app = application(2)

    with pytest.raises(testing.ActionFailed, match="only the leader can; run: juju run sriov/leader cancel"):
        app.action(1, "cancel-reboots")


def test_one_unit_is_approved_alone(application: Any):
    app = application(3)
    for number, node in enumerate(app.nodes):
        node.needs = (WHY,)
        app.hook(number)

    results = app.action(0, "approve-reboot", unit="sriov/2")
    for _ in range(12):
        app.hooks(0, 1, 2)

    assert results["approved"] == "sriov/2"
    assert app.reboots == [0, 0, 1]


def test_an_approval_of_one_unit_ends_no_stop_of_the_others(application: Any):
    app = application(3)
    for node in app.nodes:
        node.policy, node.needs = "always", (WHY,)
    app.action(0, "cancel-reboots")
    app.hooks(0, 1, 2)
    app.action(0, "approve-reboot", unit="sriov/2")
    for _ in range(12):
        app.hooks(0, 1, 2)
    assert app.reboots == [0, 0, 1]


def test_an_approval_of_a_unit_that_needs_no_reboot_is_refused(application: Any):
    app = application(2)
    app.need(1)
    with pytest.raises(testing.ActionFailed, match="parameter unit: 'sriov/7' needs no reboot; expected one"):
        app.action(0, "approve-reboot", unit="sriov/7")


def test_another_units_reboot_is_approved_on_the_leader_only(application: Any):
    app = application(2)
    app.need(0)
    with pytest.raises(testing.ActionFailed, match="only the leader can"):
        app.action(1, "approve-reboot", unit="sriov/0")
