# SPDX-License-Identifier: Apache-2.0
"""Which hosts settle for ``reboot-settle`` seconds after a boot, and which as soon as they verify.

The time is for members of clusters, which rejoin. A host without any makes no other host wait.
"""

import json
from typing import Any

import pytest
from charmkit.containers import DIRECTORY
from charmkit.reboot.databag import KEY, decode_cluster, decode_unit
from charmkit.reboot.interruption import VAULTS, members_here
from charmkit.reboot.lock import arbitrate
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import LOST, Cluster, Need, Slot, UnitNow, UnitState
from charmkit.reboot.unit import decide, next_look_in
from converge import Finding, Severity
from lab.modelled import FakeHost

ME, PEER = "sriov/1", "sriov/0"
WHY = "8 VFs at the next boot"
ALWAYS = RebootOptions("always", 300)
CLUSTER = "9c8f2d04-58a1-11ee-8f11-5254001b2c3d"
CARRIED = (
    f"{DIRECTORY}/juju-3f1a2b-0-lxd-1",
    "/var/lib/ceph/osd/ceph-3/whoami",
    "/var/lib/ceph/mon/ceph-node1/done",
    "/var/snap/microceph/common/data/osd/ceph-3/whoami",
    "/var/snap/microceph/common/data/mon/ceph-node1/done",
    f"/var/lib/ceph/{CLUSTER}/osd.3/whoami",
    *VAULTS,
)
HOST = UnitNow(ME, "boot 2", 90, 1_000_000, leader=False, has_containers=False, has_members=False)
BOOTED = UnitState(boot_id="boot 2", has_containers=False, settled=False)
HELD = Cluster(grant=1, held={ME: Slot(1, 999_000)})


def rebooted(application: Any, *, carries: str = "") -> Any:
    """Two hosts, of which the second one has rebooted; ``carries`` is a file there, before and after."""
    app = application(2, "always")
    node = app.nodes[1]
    node.carries_nothing()
    if carries:
        node.host.disk.install(carries, b"", 0o600)
    app.need(1)
    app.changed(0, of=1)
    app.changed(1)
    assert app.reboots == [0, 1]
    node.boot()
    return app


def test_a_host_without_members_gives_the_lock_back_in_the_first_look_in_which_it_verifies(application: Any):
    app = rebooted(application)
    node = app.nodes[1]
    node.unverified = "VF-LAG is not active"
    app.hook(1)
    app.changed(0, of=1)
    assert app.holder == ME
    assert node.wakes_in == 60

    node.unverified = ""
    app.hook(1)
    app.changed(0, of=1)

    assert app.holder == ""
    assert decode_unit(node.data[KEY]).settled


@pytest.mark.parametrize("path", CARRIED)
def test_a_host_that_may_carry_a_member_settles_for_the_time_of_the_option(application: Any, path: str):
    app = rebooted(application, carries=path)
    node = app.nodes[1]
    for seconds in (0, 299):
        node.host.sleep(seconds)
        said = app.hook(1).unit_status.message
        app.changed(0, of=1)
        assert app.holder == ME
        assert "rebooted; the host settles for another" in said

    node.host.sleep(1)
    app.hook(1)
    app.changed(0, of=1)

    assert app.holder == ""


def test_a_folder_that_cannot_be_read_counts_as_one_with_members():
    host = FakeHost()
    assert not members_here(host)
    host.disk.install("/var/lib/ceph/osd", b"", 0o600)  # a file: it cannot be listed

    assert members_here(host)


def test_a_container_that_does_not_run_yet_keeps_the_others_waiting(application: Any):
    app = rebooted(application, carries=CARRIED[0])
    node = app.nodes[1]
    node.has_stopped("juju-3f1a2b-0-lxd-1")
    node.host.sleep(900)

    said = app.hook(1).unit_status.message
    app.changed(0, of=1)

    assert said == "reboot: rebooted; settles once all is back: juju-3f1a2b-0-lxd-1 stopped"
    assert app.holder == ME


@pytest.mark.parametrize(
    ("own", "host"),
    [
        pytest.param(BOOTED._replace(has_containers=True), HOST, id="a container before the boot"),
        pytest.param(BOOTED._replace(osds=("osd.3",)), HOST, id="an OSD before the boot"),
        pytest.param(BOOTED, HOST._replace(has_containers=True), id="a container now"),
        pytest.param(BOOTED, HOST._replace(has_members=True), id="Ceph or a Vault on the host"),
        pytest.param(LOST, HOST, id="its own state cannot be read"),
        pytest.param(BOOTED, HOST._replace(need=Need(complete=False)), id="another charm is not heard yet"),
    ],
)
def test_what_was_there_before_the_boot_and_what_is_not_known_count_as_members(
    own: UnitState, host: UnitNow
) -> None:
    at_first = decide(host, ALWAYS, own, {}, HELD).own
    later = decide(host._replace(uptime=389), ALWAYS, at_first, {}, HELD).own
    at_last = decide(host._replace(uptime=390), ALWAYS, later, {}, HELD).own

    assert [state.settled for state in (at_first, later, at_last)] == [False, False, True]
    assert next_look_in(host, ALWAYS, at_first) == 300
    assert at_last.released == 1


def test_a_container_that_was_there_before_the_boot_is_forgotten_once_the_host_has_settled():
    own = BOOTED._replace(has_containers=True, healthy_at=90)
    assert decide(HOST, ALWAYS, own, {}, HELD).own.has_containers

    assert not decide(HOST._replace(uptime=390), ALWAYS, own, {}, HELD).own.has_containers


def test_a_host_whose_other_charm_reports_last_settles_with_that_report():
    waits = decide(HOST._replace(need=Need(complete=False)), ALWAYS, BOOTED, {}, HELD).own

    assert decide(HOST._replace(uptime=91), ALWAYS, waits, {}, HELD).own.released == 1


def test_a_host_whose_options_are_refused_keeps_the_lock_for_the_time(application: Any):
    """Nobody knows whether it verifies."""
    app = rebooted(application)
    app.refused = Finding(Severity.BLOCKED, "num-vfs", "300 is not allowed")
    app.hook(1)
    app.changed(0, of=1)
    assert app.holder == ME

    app.nodes[1].host.sleep(300)
    app.hook(1)
    app.changed(0, of=1)
    assert app.holder == ""


# Units of two revisions.


def test_an_earlier_leader_reads_the_same_from_a_host_that_waited_and_from_one_that_did_not(application: Any):
    said = list[dict[str, Any]]()
    for carries in ("", VAULTS[0]):
        app = rebooted(application, carries=carries)
        app.hook(1)
        if carries:
            app.nodes[1].host.sleep(300)
            app.hook(1)
        said.append(json.loads(app.nodes[1].data[KEY]))

    assert said[0] == said[1]
    assert said[0]["version"] == 1
    assert said[0]["released"] == decode_cluster(app.app_data[KEY]).grant


def test_a_leader_waits_for_an_earlier_unit_that_settles_for_the_time_without_members():
    waits = BOOTED._replace(answered="a", zone="a", healthy_at=90)
    wants = BOOTED._replace(
        answered="a", boot_id="a", zone="a", settled=True, reasons=(WHY,), ready=True, consent="always"
    )
    units = {ME: waits, PEER: wants}

    assert arbitrate(PEER, units, HELD, 1_000_000).held.keys() == {ME}
    units[ME] = waits._replace(settled=True, released=1)
    assert arbitrate(PEER, units, HELD, 1_000_000).held.keys() == {PEER}


def test_a_unit_that_is_refreshed_in_its_grace_gives_the_lock_back_in_its_next_look():
    kept = BOOTED._replace(healthy_at=80)

    assert decide(HOST, ALWAYS, kept, {}, HELD).own.released == 1
