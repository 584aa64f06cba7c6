# SPDX-License-Identifier: Apache-2.0
"""The sequences on a server behind SSH: what is recorded, put back, left to the timer, and told."""

import pytest
from lab.calibrate.__main__ import main
from lab.calibrate.restore import Held
from lab.calibrate.sequence import Operation, Sequence
from lab.calibrate.shell import Card, CardError
from lab.calibrate.ssh import SshShell
from lib.lab.calibrate.calibration import NET0, NET1, OWN, P0, P1, Operator, host, record
from lib.lab.calibrate.modelled import OTHER, PORTS, SERIAL, Server

__all__ = ["host"]

RULES = dict.fromkeys(("eno1", *OTHER.values()), "qdisc ingress ffff: parent ffff:fff1\n")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A server with rules on other NICs, after a calibration; what was recorded; what the operator saw."""
    with pytest.MonkeyPatch.context() as patch:
        host = Server(tmp_path_factory.mktemp("recorded") / "host")
        patch.setenv("PATH", f"{host.root / 'outside'}:/usr/bin:/bin")
        for name, text in RULES.items():
            host.set(f"qdisc-{name}", text)
        operator = Operator()
        return host, record(operator), operator


def hold():
    return Held(Card(SshShell("root@server"), (P0, P1), (NET0, NET1)))


def test_a_card_is_recorded_and_put_back(recorded):
    host, recording, operator = recorded
    switched, refused = recording.sequences["own"]
    assert (switched.status, refused.status, refused.errno) == (0, 1, "EBUSY")
    assert switched.state["port0"]["eswitch"].startswith("mode switchdev")
    assert recording.card["kind"] == "real"
    timer, *others = host.trace
    assert timer.startswith("systemd-run --quiet --collect --unit=ovn-offload-calibrate --on-active=900")
    assert others.count(f"devlink dev eswitch set pci/{P0} mode switchdev") == 1
    restored = others.index("systemctl start ovn-offload-calibrate.service")
    assert others[-1] == "systemctl stop ovn-offload-calibrate.timer"
    assert others[restored + 1 :].count(f"ethtool -L {NET0} combined 6") == 1
    assert host.left == []
    assert "A power loss or a reboot meanwhile leaves the card" in operator.told[0]
    assert "Nothing is written to the firmware" in operator.told[0]
    assert SERIAL not in operator.told[0] + operator.asked[0]


def test_every_setting_that_a_sequence_changes_is_put_back(recorded):
    host, _, _ = recorded
    back = host.trace[host.trace.index("systemctl start ovn-offload-calibrate.service") :]
    settings = [line for line in back if NET0 in line]
    assert settings[settings.index(f"ethtool -L {NET0} combined 6") :] == [
        f"ethtool -L {NET0} combined 6",
        f"ethtool -G {NET0} rx 1024 tx 2048",
        f"ethtool -C {NET0} adaptive-rx on rx-usecs 8 rx-frames 128",
        f"dcb ets set dev {NET0} tc-tsa 0:strict 1:ets tc-bw 0:0 1:100 prio-tc 0:0 1:1",
        f"ethtool -A {NET0} rx off tx off",
        f"dcb pfc set dev {NET0} prio-pfc 0:off 3:on",
        f"ethtool -A {NET0} rx on tx off",
        f"dcb app flush dev {NET0}",
        f"dcb app add dev {NET0} dscp-prio 26:3",
        f"ethtool -K {NET0} hw-tc-offload off",
        f"ip link set {NET0} up",
    ]


def test_a_card_in_switchdev_mode_is_put_back_into_it(host):
    host.set("param-flow_steering_mode", "values:\n      cmode runtime value dmfs\n")
    host.set(f"eswitch-{P0}", f"pci/{P0}: mode switchdev inline-mode none encap-mode none\n")
    with hold():
        pass
    modes = [line for line in host.trace if line.startswith("devlink") and P0 in line]
    assert modes[-5:] == [
        f"devlink dev eswitch set pci/{P0} mode legacy encap-mode basic",
        f"devlink dev eswitch set pci/{P0} mode legacy",
        f"devlink dev param set pci/{P0} name flow_steering_mode value dmfs cmode runtime",
        f"devlink dev eswitch set pci/{P0} encap-mode none",
        f"devlink dev eswitch set pci/{P0} mode switchdev",
    ]


def test_a_card_with_one_eswitch_for_both_ports_is_put_back_into_it(host):
    host.set("param-esw_multiport", "values:\n      cmode runtime value true\n")
    for bdf in PORTS:
        host.set(f"eswitch-{bdf}", f"pci/{bdf}: mode switchdev inline-mode none encap-mode basic\n")
    with hold():
        pass
    back = [line for line in host.trace if "switchdev" in line or "esw_multiport" in line]
    assert back == [
        f"devlink dev eswitch set pci/{P0} mode switchdev",
        f"devlink dev eswitch set pci/{P1} mode switchdev",
        f"devlink dev param set pci/{P0} name esw_multiport value true cmode runtime",
    ]


def test_a_timer_outlasts_many_quick_commands(host):
    with hold() as card:
        for _ in range(9):
            assert card.run("devlink dev eswitch set pci/$PF0 mode switchdev").returncode == 0
    assert host.trace.count(f"devlink dev eswitch set pci/{P0} mode switchdev") == 9
    assert host.trace.count("systemctl start ovn-offload-calibrate.service") == 1


def losing_its_timer(host, *others):
    """A sequence that takes the timer away after a change."""
    lost = Operation("lose the timer", f"rm {host.root}/units/ovn-offload-calibrate.timer")
    return Sequence("own", "What comes of it?", (OWN.operations[0], *others, lost))


def test_a_card_whose_timer_was_lost_is_put_back_all_the_same(host):
    with pytest.raises(CardError, match="the host has put its card back meanwhile"):
        record(None, losing_its_timer(host))
    assert host.trace.count(f"devlink dev eswitch set pci/{P0} mode switchdev") == 1
    assert (host.state / f"eswitch-{P0}").read_text().startswith(f"pci/{P0}: mode legacy")
    assert host.left == []


def test_what_went_wrong_first_is_told_with_what_could_not_be_put_back(host):
    stays = Operation("what stays", f"echo prio-pfc 3:off >{host.state}/dcb-pfc-{NET0}")
    with pytest.raises(CardError) as told:
        record(None, losing_its_timer(host, stays))
    first, then, *_ = str(told.value).splitlines()
    assert first == "the host has put its card back meanwhile: begin again"
    assert then == "the card's settings are not as before:"


def test_another_card_of_the_host_is_not_touched(recorded):
    host, _, _ = recorded
    for name, text in RULES.items():
        assert (host.state / f"qdisc-{name}").read_text() == text
        assert name not in "\n".join(host.trace)
    for bdf in OTHER:
        assert bdf not in "\n".join(host.trace)


def test_a_lost_connection_leaves_it_to_the_timer(host):
    held = hold()
    held.__enter__().run("devlink dev eswitch set pci/$PF0 mode switchdev")
    (host.root / "unreachable").touch()
    with pytest.raises(CardError, match="the host puts the card back by itself within 15 minutes"):
        held.__exit__(None, None, None)
    assert "mode switchdev" in (host.state / f"eswitch-{P0}").read_text()
    host.timer_fires()
    assert "mode legacy" in (host.state / f"eswitch-{P0}").read_text()
    assert host.trace[-1] == f"ip link set {NET1} up"
    assert host.left == []


def test_nothing_is_run_any_more_once_the_timer_has_gone_off(host):
    held = hold()
    card = held.__enter__()
    host.timer_fires()
    with pytest.raises(CardError, match="the host has put its card back meanwhile: begin again"):
        card.run("devlink dev eswitch set pci/$PF0 mode switchdev")
    assert f"devlink dev eswitch set pci/{P0} mode switchdev" not in host.trace
    held.__exit__(None, None, None)  # it finds the card as it was


def test_the_card_is_put_back_after_the_command_that_still_runs(host):
    card = hold().__enter__()
    card.run(f"(sleep 0.5; echo the command ends >>{host.root}/trace) >/dev/null 2>&1 &")
    host.timer_fires()
    assert host.trace.index("the command ends") < host.trace.index(f"ip link set {NET0} nomaster down")


def test_settings_that_did_not_come_back_are_told(host):
    with pytest.raises(CardError, match="not as before:") as told, hold() as card:
        card.run(f"echo 'hw-tc-offload: on' >{host.state}/ethtool-k-{NET1}")
    assert f"+ethtool -K {NET1} hw-tc-offload on" in str(told.value)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--host", "root@server"], "--host and --nic belong together"),
        (["--nic", "3b:00.0"], "--host and --nic belong together"),
        (["--host", "h", "--nic", "3b:00.0", "--compare", "f"], "only --record goes with it"),
        (["--host", "h", "--nic", "3b:00.0", "--ovs-tests", "f"], "only --record goes with it"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, reason, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert reason in capsys.readouterr().err
