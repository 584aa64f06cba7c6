# SPDX-License-Identifier: Apache-2.0
"""Under ``when-idle`` after a power cut: whose grace the others wait for, and whose they do not."""

import pytest
from charmkit.reboot.lock import approve_all
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Cluster, Need, UnitNow, UnitState
from charmkit.reboot.unit import decide

ME, PEER = "sriov/0", "sriov/1"
WHY = ("8 VFs at the next boot",)
IDLE = RebootOptions("when-idle")
WANTS = UnitState(boot_id="boot 1", reasons=WHY, since=999_000, ready=True, consent="always")


class Fleet:
    """Hosts of one application under ``when-idle`` after a power cut: a boot that the lock knows nothing of.

    ``needs`` is what each charm finds in each of its hooks, one every five minutes, the leader's last.
    """

    def __init__(self, needs: dict[str, Need]) -> None:
        self.needs = needs
        self.boots = dict.fromkeys(needs, 2)
        self.up_since = dict.fromkeys(needs, 0)
        self.units = dict.fromkeys(needs, UnitState(boot_id="boot 1"))
        self.stopped = dict.fromkeys(needs, "")
        self.cluster = Cluster()
        self.asked: list[str] = []
        self.now = 0

    def run(self, hours: int) -> None:
        for _ in range(hours * 12):
            self.now += 300
            for unit in sorted(self.needs, reverse=True):
                self.hook(unit)

    def hook(self, unit: str) -> None:
        host = UnitNow(
            unit=unit,
            boot_id=f"boot {self.boots[unit]}",
            uptime=self.now - self.up_since[unit],
            now=1_000_000 + self.now,
            leader=unit == ME,
            need=self.needs[unit],
            not_back=self.stopped[unit],
        )
        peers = {name: state for name, state in self.units.items() if name != unit}
        decision = decide(host, IDLE, self.units[unit], peers, self.cluster)
        self.units[unit], self.cluster = decision.own, decision.cluster
        if decision.reboot:
            down = [name for name in self.asked if not self.units[name].settled]
            assert not down, f"{unit} goes down while {down} have not settled"
            self.asked.append(unit)
            self.boots[unit] += 1
            self.up_since[unit], self.needs[unit] = self.now, Need()


LACKS = Need(WHY, unverified="set for the next boot, and not active yet: NUM_OF_VFS")


def test_after_a_power_cut_hosts_that_all_need_a_reboot_take_turns():
    fleet = Fleet({ME: LACKS, PEER: LACKS, "sriov/2": LACKS})

    fleet.run(hours=2)

    assert fleet.asked == [PEER, "sriov/2", ME]
    assert all(state.settled for state in fleet.units.values())


@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(Need(unverified="VF-LAG is not active"), id="broken, and no reboot would help"),
        pytest.param(Need(WHY, not_ready="boot files", unverified="no"), id="not prepared yet"),
    ],
)
def test_a_host_that_came_back_and_does_not_wait_for_the_lock_stops_the_rolling_and_is_named(peer: Need):
    fleet = Fleet({ME: LACKS, PEER: peer, "sriov/2": LACKS})

    fleet.run(hours=24)

    assert fleet.asked == []
    assert fleet.cluster.held_up_by == (PEER,)
    fleet.cluster = approve_all(fleet.units, fleet.cluster)
    fleet.run(hours=1)
    assert fleet.asked[0] == "sriov/2", "an approval is the way out"


def test_a_host_whose_reboot_changed_nothing_asks_for_none_and_stops_the_rolling():
    in_vain = Need(WHY, unverified="NUM_OF_VFS is as before")
    fleet = Fleet({ME: LACKS, PEER: in_vain})
    fleet.units[PEER] = WANTS

    fleet.run(hours=24)

    assert (fleet.units[PEER].reasons, fleet.units[PEER].still_needed) == ((), WHY)
    assert fleet.asked == []
    assert fleet.cluster.held_up_by == (PEER,)


def test_not_even_with_another_reason_beside_it():
    in_vain = Need((*WHY, "switchdev at the next boot"), unverified="NUM_OF_VFS is as before")
    fleet = Fleet({ME: LACKS, PEER: in_vain})
    fleet.units[PEER] = WANTS
    for fleet.now in (60, 3600):
        fleet.hook(PEER)

    assert fleet.units[PEER].reasons == ("switchdev at the next boot",)
    assert not fleet.units[PEER].queues_unsettled


def test_a_host_whose_containers_have_not_run_for_the_settle_time_keeps_the_others_waiting():
    fleet = Fleet({ME: LACKS, PEER: LACKS})
    fleet.stopped = {ME: "juju-0-lxd-1 stopped", PEER: "juju-1-lxd-1 stopped"}
    fleet.run(hours=1)
    assert (fleet.asked, fleet.cluster.held_up_by) == ([], (ME, PEER))

    fleet.stopped = {ME: "", PEER: ""}
    fleet.run(hours=1)

    assert fleet.asked == [PEER, ME]


@pytest.mark.parametrize(("uptime", "queues"), [(309, False), (310, True)])
def test_a_host_that_needs_another_reboot_queues_once_its_containers_ran_for_the_settle_time(
    uptime: int, queues: bool
) -> None:
    own = UnitState(boot_id="boot 2", reasons=WHY, ready=True, settled=False, containers_up_at=10)
    host = UnitNow(
        unit=PEER, boot_id="boot 2", uptime=uptime, now=1_000_000, leader=False, need=LACKS, not_back=""
    )
    after = decide(host, RebootOptions("when-idle", 300), own, {}, Cluster()).own
    assert (after.settled, after.queues_unsettled) == (False, queues)
