# SPDX-License-Identifier: Apache-2.0
"""Several charms on one machine: one of them asks for everybody's reboot."""

import errno
from typing import Any

import pytest
from charmkit.reboot.state import Need
from charmkit.reboot.unit import as_request, with_others
from hostnic import handover
from hostnic.handover import Handover, RebootRequest
from ops import testing

WHY = ("8 VFs at the next boot",)


def handed(reboot: RebootRequest | None, pending: str = "") -> Handover:
    return Handover("sriov-switchdev", "sriov-switchdev/0", "nic-firmware", reboot=reboot, pending=pending)


def test_the_owner_asks_once_for_everybody_and_after_everybody_is_ready():
    preparing = handed(RebootRequest(("switchdev",), 1, ready=False), "installs its boot files")

    merged = with_others(Need(("NUM_OF_VFS 8",)), [preparing, handed(None)], "nic-firmware")

    assert merged.reasons == ("NUM_OF_VFS 8", "sriov-switchdev: switchdev")
    assert merged.not_ready == "sriov-switchdev: installs its boot files"


def test_a_charm_that_wants_no_reboot_does_not_hide_the_next_one():
    wants = handed(RebootRequest(WHY, 1, ready=True))

    assert with_others(Need(), [handed(None), wants], "nic-firmware").reasons == (
        f"sriov-switchdev: {WHY[0]}",
    )


def test_a_ready_wish_does_not_hold_the_owner_up():
    assert with_others(Need(), [handed(RebootRequest(WHY, 1, ready=True))], "nic-firmware").not_ready == ""


def test_a_wish_for_another_owner_is_not_the_owners():
    elsewhere = handed(RebootRequest(WHY, 1, ready=False))

    assert with_others(Need(), [elsewhere], "roce-qos") == Need()


def test_a_need_becomes_a_wish_for_the_owner():
    assert as_request(Need(), 5) is None
    assert as_request(Need(WHY), 5) == RebootRequest(WHY, since=5, ready=True)
    assert as_request(Need(WHY, not_ready="x"), 5) == RebootRequest(WHY, since=5, ready=False)


# A charm's turn.


def published(app: Any) -> Handover | None:
    """Return the file that unit 0 hands over, as another charm of its machine reads it."""
    host = app.nodes[0].host
    host.disk.install("/var/lib/juju/agents/unit-sriov-0/agent.conf", b"", 0o600)
    found, malformed = handover.read_others(host, "nic-firmware")
    assert not malformed
    return found[0] if found else None


def test_the_owner_asks_for_what_another_charm_wants(application: Any):
    app = application(1, mode="always")
    app.nodes[0].others = (Handover("nic-firmware", "nic-firmware/0", "sriov", RebootRequest(WHY, 1, True)),)

    app.hook(0)

    assert app.nodes[0].reboots == 1
    assert published(app) == Handover("sriov", "sriov/0", "sriov", reboot_lock=True)


@pytest.mark.parametrize("mode", ["manual", "when-idle", "always"])
def test_another_charms_reboot_is_handed_over_under_every_policy(application: Any, mode: str):
    app = application(1, mode=mode)
    app.nodes[0].owner, app.nodes[0].needs = "nic-firmware", WHY

    out = app.hook(0)

    assert app.nodes[0].reboots == 0
    assert app.holder == ""
    assert published(app).reboot.reasons == WHY
    said = "reboot: nic-firmware asks for it; needed for 8 VFs at the next boot"
    assert out.unit_status == testing.WaitingStatus(said)


def test_a_lock_that_was_held_goes_back_when_another_charm_becomes_the_owner(application: Any):
    app = application(1, mode="always", settle=0)
    app.need(0)
    assert app.holder == "sriov/0"
    app.nodes[0].boot()
    app.nodes[0].owner = "nic-firmware"

    for _ in range(2):
        app.hook(0)

    assert app.holder == ""
    assert app.nodes[0].reboots == 1


def test_nothing_reboots_while_two_charms_name_two_owners(application: Any):
    app = application(1, mode="always")
    app.nodes[0].needs = WHY
    app.nodes[0].others = (Handover("roce-qos", "roce-qos/0", "nic-firmware", RebootRequest(WHY, 1, True)),)

    out = app.hook(0)

    assert app.nodes[0].reboots == 0
    assert out.unit_status.name == "blocked"
    assert out.unit_status.message.startswith(
        "give all nic-firmware applications on it one reboot-owner; option reboot-owner: sriov"
    )


def test_a_file_that_cannot_be_written_is_a_warning_and_written_by_the_next_hook(application: Any):
    app = application(1)
    host, path = app.nodes[0].host, handover.path_of("sriov")
    host.disk.remove(path)
    host.fail("install", path, OSError(errno.ENOSPC, "No space left on device"))

    assert "/run/ovn-offload: cannot be written" in app.hook(0).unit_status.message
    app.hook(0)

    assert host.files.exists(path)


# A change of the owner during a roll, on two machines. Machine 0 has the leader.


def nic(number: int, owner: str, *, lock: bool = False) -> tuple[Handover, ...]:
    return (Handover("nic-firmware", f"nic-firmware/{number}", owner, reboot_lock=lock),)


@pytest.mark.parametrize("mode", ["when-idle", "always"])
@pytest.mark.parametrize("where", [0, 1])
def test_a_new_owner_grants_nothing_while_the_former_owner_holds_its_lock(
    application: Any, mode: str, where: int
):
    app = application(2, mode)
    for number, node in enumerate(app.nodes):
        node.others = nic(number, "sriov", lock=number == where)
    app.hook(1)
    app.nodes[0].needs = WHY

    app.hooks(0, 1, 0)

    assert (app.holder, app.reboots) == ("", [0, 0])
    app.nodes[where].others = nic(where, "sriov")
    app.hooks(1, 0)
    assert app.reboots == [1, 0]


def test_a_new_owner_grants_nothing_while_the_change_has_not_reached_another_machine(application: Any):
    app = application(2, "always")
    app.nodes[0].others = nic(0, "sriov")
    app.nodes[1].others, app.nodes[1].owner = nic(1, "nic-firmware"), "nic-firmware"
    app.hook(1)
    app.nodes[0].needs = WHY

    out = app.hook(0)

    assert app.nodes[0].reboots == 0
    assert "waits, since sriov/1 leaves its reboots to nic-firmware" in out.unit_status.message
    app.nodes[1].others, app.nodes[1].owner = nic(1, "sriov"), "sriov"
    app.hooks(1, 0)
    assert app.nodes[0].reboots == 1


def test_another_owner_counts_even_if_that_charm_wants_no_reboot_itself(application: Any):
    app = application(1, "always")
    app.nodes[0].others = nic(0, "nic-firmware")
    app.nodes[0].needs = WHY

    out = app.hook(0)

    assert app.nodes[0].reboots == 0
    assert "reboots: sriov/0 shares its machine with nic-firm" in out.unit_status.message


def test_a_unit_hands_over_that_it_holds_the_lock_until_it_has_settled(application: Any):
    app = application(1, "always")
    app.need(0)
    app.nodes[0].boot()
    app.nodes[0].owner = "nic-firmware"

    app.hook(0)
    during = published(app)
    app.nodes[0].host.sleep(300)
    app.hook(0)

    assert (during.reboot_owner, during.reboot_lock) == ("nic-firmware", True)
    assert not published(app).reboot_lock


def test_a_file_of_release_1_0_holds_no_lock(application: Any):
    app = application(1)
    host = app.nodes[0].host
    text = b'{"version": 1, "unit": "sriov/0", "reboot_owner": "sriov", "reboot": null}'
    host.disk.install(handover.path_of("sriov"), text, 0o600)

    assert published(app) == Handover("sriov", "sriov/0", "sriov")


# The operator's release, while a hook of the holder runs that began before it.


def test_a_release_does_not_let_two_hosts_down_when_the_old_holder_still_uses_its_lock(application: Any):
    app = application(3, "always")
    app.nodes[1].needs = app.nodes[2].needs = WHY
    app.hooks(1, 2, 0)
    assert app.holder == "sriov/1"
    before = dict(app.app_data)

    app.action(0, "release-reboot-lock")
    app.hooks(0, 2)
    app.hook(1, app_data=before)

    assert app.reboots == [0, 1, 0], "sriov/1 goes down on its old lock"
    app.hooks(0, 2)
    assert app.reboots == [0, 1, 0]
    app.nodes[1].boot()
    app.hooks(1, 0, 2)
    assert app.reboots == [0, 1, 0], "it has read that the lock is gone, and settles"
    app.nodes[1].host.sleep(app.policy.reboot_settle)
    app.hooks(1, 0, 2)
    assert app.reboots == [0, 1, 1]


def test_after_a_release_the_lock_goes_on_once_the_old_holder_has_read_it(application: Any):
    app = application(3, "always")
    app.nodes[1].needs = app.nodes[2].needs = WHY
    app.hooks(1, 2, 0)

    app.action(0, "release-reboot-lock")
    app.hooks(1, 0)

    assert app.nodes[1].reboots == 0
    assert app.holder in ("sriov/1", "sriov/2")


@pytest.mark.parametrize("mode", ["manual", "always"])
def test_a_host_that_lost_its_lock_and_verifies_only_after_another_reboot_gets_it(
    application: Any, mode: str
):
    app = application(2, mode)
    app.need(1)
    app.action(0, "approve-reboot")
    app.changed(1)
    app.nodes[1].boot(changes_nothing=True)
    app.nodes[1].unverified = "NUM_OF_VFS is as before"
    app.hook(1)
    app.action(0, "release-reboot-lock")
    app.hook(1)
    assert app.nodes[1].reboots == 1

    app.action(0, "approve-reboot")
    for _ in range(7):
        out = app.hooks(0, 1)
        app.nodes[1].host.sleep(60)

    assert app.nodes[1].reboots == 2, out.unit_status
