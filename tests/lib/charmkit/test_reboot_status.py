# SPDX-License-Identifier: Apache-2.0
"""The operators' texts about reboots: who waits for what, for how long, and what to run."""

import pytest
from charmkit.reboot.peers import SILENT, UNSETTLED
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Cluster, Need, Slot, UnitNow, UnitState
from charmkit.reboot.status import STUCK, duration, handed_over, report
from charmkit.status import unit_status
from converge import Severity

WHY = ("8 VFs at the next boot",)
HOST = UnitNow("sriov/0", "boot 1", uptime=5000, now=1_000_000, leader=False, need=Need(WHY))
WANTS = UnitState(boot_id="boot 1", reasons=WHY, since=999_000, ready=True)
BACK = UnitState(boot_id="boot 1", settled=False)
HELD_BY_OTHER = Cluster(grant=1, held={"sriov/7": Slot(1, 1_000_000 - 3 * 3600 - 120)})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (11_100, "3 h 5 min"),
        (180_000, "2 d 2 h"),
    ],
)
def test_durations(seconds: int, text: str):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("mode", "host", "own", "cluster", "severity", "sentence"),
    [
        pytest.param(
            "manual",
            HOST,
            WANTS,
            Cluster(),
            Severity.HELD,
            "reboot: needed for 8 VFs at the next boot; run: juju run sriov/leader approve-reboot",
            id="needs approval",
        ),
        pytest.param(
            "when-idle",
            HOST._replace(busy="instance-1 running"),
            WANTS,
            Cluster(),
            Severity.WAITING,
            "reboot: waits until the host is idle (instance-1 running); needed for 8 VFs at the next boot; "
            "it goes on by itself; to reboot all the same, run: juju run sriov/leader approve-reboot",
            id="waits until idle",
        ),
        pytest.param(
            "manual",
            HOST,
            WANTS._replace(approved=WANTS.reasons),
            Cluster(may_be_down={"sriov/3": "does not answer at port 22", "sriov/7": "has not run a hook"}),
            Severity.HELD,
            "reboot: waits, since sriov/3 does not answer at port 22; "
            "sriov/7 has not run a hook; needed for 8 VFs at the next boot; "
            "look at those units; to reboot all the same, run: juju run sriov/leader approve-reboot",
            id="another host may be down",
        ),
        pytest.param(
            "always",
            HOST,
            WANTS._replace(consent="always"),
            Cluster(may_be_down={f"sriov/{n}": "is away" for n in range(3, 8)}),
            Severity.WAITING,
            "reboot: waits, since sriov/3 is away; sriov/4 is away; sriov/5 is away; and 2 more; "
            "needed for 8 VFs at the next boot; look at those units; to reboot all the same, "
            "run: juju run sriov/leader approve-reboot",
            id="many hosts may be down",
        ),
        pytest.param(
            "manual",
            HOST,
            WANTS._replace(approved=WANTS.reasons),
            Cluster(may_be_down={"sriov/0": UNSETTLED, "sriov/3": UNSETTLED}),
            Severity.WAITING,
            "reboot: waits, since sriov/3 has booted and has not settled yet; "
            "needed for 8 VFs at the next boot; "
            "it goes on by itself; to reboot all the same, run: juju run sriov/leader approve-reboot",
            id="another host settles, which needs no approval",
        ),
        pytest.param(
            "manual",
            HOST,
            WANTS._replace(approved=WANTS.reasons),
            Cluster(may_be_down={"sriov/3": UNSETTLED, "sriov/7": SILENT}),
            Severity.HELD,
            "reboot: waits, since sriov/3 has booted and has not settled yet; "
            "sriov/7 does not answer at port 22; needed for 8 VFs at the next boot; "
            "look at those units; to reboot all the same, run: juju run sriov/leader approve-reboot",
            id="one settles and another one may be down",
        ),
        pytest.param(
            "when-idle",
            HOST,
            WANTS._replace(consent="idle"),
            Cluster(held_up_by=("sriov/0", "sriov/3", "sriov/7")),
            Severity.WAITING,
            "reboot: waits for sriov/3, sriov/7 to settle; needed for 8 VFs at the next boot; "
            "it goes on by itself; to reboot all the same, run: juju run sriov/leader approve-reboot",
            id="waits for others that came back and have not settled",
        ),
        pytest.param(
            "always",
            HOST._replace(need=Need(WHY, not_ready="boot files are not installed")),
            WANTS._replace(ready=False),
            Cluster(),
            Severity.WAITING,
            "reboot: waits for boot files are not installed; needed for 8 VFs at the next boot",
            id="not prepared",
        ),
        pytest.param(
            "always",
            HOST,
            WANTS._replace(consent="always"),
            Cluster(),
            Severity.WAITING,
            "reboot: waits for the leader to grant it; needed for 8 VFs at the next boot",
            id="waits for the leader",
        ),
        pytest.param(
            "always",
            HOST,
            WANTS._replace(consent="always"),
            HELD_BY_OTHER,
            Severity.WAITING,
            "reboot: waits for sriov/7, whose turn began 3 h 2 min ago; needed for 8 VFs at the next boot; "
            "look at that host; or run: juju run sriov/leader release-reboot-lock",
            id="waits for its turn",
        ),
        pytest.param(
            "always",
            HOST,
            WANTS._replace(requested_at=4820),
            Cluster(1, "sriov/0"),
            Severity.WAITING,
            "reboot: requested 3 min ago; needed for 8 VFs at the next boot",
            id="under way",
        ),
        pytest.param(
            "always",
            HOST,
            WANTS._replace(requested_at=4820, reasons=()),
            Cluster(1, "sriov/0"),
            Severity.WAITING,
            "reboot: requested 3 min ago, but not needed any more",
            id="under way, not needed any more",
        ),
        pytest.param(
            "always",
            HOST,
            WANTS._replace(requested_at=4000),
            Cluster(1, "sriov/0"),
            Severity.BLOCKED,
            "reboot: requested 16 min ago, but the host is still in the same boot; "
            "run: juju ssh sriov/0 sudo systemctl reboot",
            id="never came",
        ),
        pytest.param(
            "always",
            HOST._replace(need=Need(unverified="VF-LAG is not active")),
            BACK,
            Cluster(1, "sriov/0"),
            Severity.WAITING,
            "reboot: rebooted; settles once the host verifies: VF-LAG is not active",
            id="does not verify yet",
        ),
        pytest.param(
            "always",
            HOST._replace(need=Need(), not_back="juju-0-lxd-1 stopped"),
            BACK,
            Cluster(1, "sriov/0"),
            Severity.WAITING,
            "reboot: rebooted; settles once all is back: juju-0-lxd-1 stopped",
            id="containers",
        ),
        pytest.param(
            "always",
            HOST._replace(need=Need()),
            BACK._replace(healthy_at=4940),
            Cluster(1, "sriov/0"),
            Severity.WAITING,
            "reboot: rebooted; the host settles for another 4 min",
            id="settles",
        ),
    ],
)
def test_one_sentence_for_each_wait(
    mode: str, host: UnitNow, own: UnitState, cluster: Cluster, severity: Severity, sentence: str
):
    (finding,) = report(host, RebootOptions(mode), own, cluster)

    assert (finding.severity, finding.sentence()) == (severity, sentence)


def test_a_reboot_that_changed_nothing_is_named_and_not_repeated():
    findings = report(HOST, RebootOptions("always"), BACK._replace(still_needed=WHY), Cluster(1, "sriov/0"))

    assert [(finding.severity, finding.sentence()) for finding in findings] == [
        (
            Severity.BLOCKED,
            "reboot: rebooted, and still needs a reboot for 8 VFs at the next boot; "
            "fix what verify reports; then run: juju run sriov/leader approve-reboot, "
            "since no policy repeats the reboot",
        )
    ]


@pytest.mark.parametrize(
    ("leader", "age", "named"), [(True, 300, True), (True, 299, False), (False, 9000, False)]
)
def test_the_leader_names_a_stuck_holder(leader: bool, age: int, named: bool):
    cluster = Cluster(1, held={"sriov/7": Slot(1, HOST.now - STUCK - age)})

    findings = report(
        HOST._replace(leader=leader, need=Need()), RebootOptions(), UnitState(boot_id="boot 1"), cluster
    )

    assert [finding.sentence() for finding in findings] == (
        [
            f"reboot: sriov/7 has held the lock for {duration(STUCK + age)}; "
            "look at that host; or run: juju run sriov/leader release-reboot-lock"
        ]
        if named
        else []
    )


@pytest.mark.parametrize(
    ("leader", "age", "helped"), [(False, 300, True), (False, 299, False), (True, 300, False)]
)
def test_a_unit_that_waits_for_a_stuck_holder_says_what_to_do_unless_it_leads(
    leader: bool, age: int, helped: bool
):
    cluster = Cluster(1, held={"sriov/7": Slot(1, HOST.now - STUCK - age)})
    wants = WANTS._replace(consent="always")

    waits = report(HOST._replace(leader=leader), RebootOptions("always"), wants, cluster)[0]

    assert waits.what.startswith("waits for sriov/7, ")
    help_text = "look at that host; or run: juju run sriov/leader release-reboot-lock"
    assert waits.remedy == (help_text if helped else "")


def test_nothing_to_say_about_a_host_that_needs_none():
    assert (
        report(HOST._replace(need=Need()), RebootOptions(), UnitState(boot_id="boot 1"), HELD_BY_OTHER) == ()
    )


def test_a_charm_that_does_not_own_the_reboots_names_the_owner():
    (finding,) = handed_over(Need(WHY), "nic-firmware")

    assert finding.sentence() == "reboot: nic-firmware asks for it; needed for 8 VFs at the next boot"
    assert handed_over(Need(), "nic-firmware") == ()


def test_a_status_that_is_cut_still_names_the_unit_that_is_waited_for():
    many = WANTS._replace(consent="always", reasons=("3b:00: 9+9 VFs and VF-LAG",) * 8)
    cluster = Cluster(grant=3, held={"sriov-switchdev/107": Slot(3, HOST.now - 60)})

    status = unit_status(report(HOST, RebootOptions("always"), many, cluster))

    assert "waits for sriov-switchdev/107, whose turn began 1 min ago" in status.message
    assert status.message.endswith("… (see verify)")


@pytest.mark.parametrize(
    ("host", "cluster", "waits_for"),
    [
        (HOST._replace(need=Need(WHY, not_ready="boot files are not installed")), Cluster(), "boot files"),
        (HOST._replace(busy="instance-1 running"), Cluster(), "instance-1 running"),
        (HOST, Cluster(stopped=True), "stopped by cancel-reboots"),
    ],
)
def test_a_status_that_is_cut_still_says_what_is_waited_for(host: UnitNow, cluster: Cluster, waits_for: str):
    many = WANTS._replace(consent="" if host.busy else "idle", reasons=("3b:00: 9+9 VFs and VF-LAG",) * 8)

    message = unit_status(report(host, RebootOptions("when-idle"), many, cluster)).message

    assert waits_for in message
    assert message.endswith("… (see verify)")
