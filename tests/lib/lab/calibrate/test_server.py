# SPDX-License-Identifier: Apache-2.0
"""The sequences on a server behind SSH: the guards one by one, the timer, and what is left there."""

import json

import pytest
from lab.calibrate import guards, server, ssh
from lab.calibrate.__main__ import main
from lab.calibrate.guards import WRITES_FIRMWARE, serial_in
from lab.calibrate.restore import Held
from lab.calibrate.sequence import Operation, Sequence
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import Card, CardError, find
from lab.calibrate.ssh import SshError, SshShell
from lib.lab.calibrate.modelled import OTHER, PORTS, SERIAL, Server, vpd

P0, P1 = PORTS
NET0, NET1 = PORTS.values()
OWN = Sequence(
    "own",
    "What comes of it?",
    (
        Operation("to switchdev", "devlink dev eswitch set pci/$PF0 mode switchdev"),
        Operation("refused", "echo 'kernel answers: Device or resource busy' >&2; exit 1"),
    ),
)


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'host/outside'}:/usr/bin:/bin")
    return Server(tmp_path / "host")


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


class Operator:
    """Answers the question for the serial number, and reads what is told."""

    def __init__(self, answer=SERIAL):
        self.answer = answer
        self.asked = []
        self.told = []

    def __call__(self, question):
        self.asked.append(question)
        return self.answer


def record(operator=None, *sequences):
    operator = operator or Operator()
    card = Card(SshShell("root@server"), (P0, P1), (NET0, NET1))
    return server.record(card, sequences or (OWN,), operator, operator.told.append)


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
    assert modes[-4:] == [
        f"devlink dev eswitch set pci/{P0} mode legacy encap-mode basic",
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


def juju(host):
    (host.root / "var/lib/juju/agents/unit-ceph-osd-3").mkdir(parents=True)


def route(host):
    host.set("routes", json.dumps([{"dst": "10.0.0.0/24", "dev": NET1}]))


def route_of_ipv6(host):
    host.set("routes6", json.dumps([{"dst": "2001:db8::/64", "dev": NET0}]))


def route_of_several_hops(host):
    hops = [{"gateway": "192.0.2.3", "dev": "eno1"}, {"gateway": "192.0.2.4", "dev": NET1}]
    host.set("routes", json.dumps([{"dst": "default", "nexthops": hops}]))


def address(host):
    host.set("routes", json.dumps([{"type": "local", "dst": "10.0.0.7", "dev": NET0, "table": "local"}]))


def connection(host):
    host.set("back", json.dumps([{"dst": "192.0.2.9", "dev": NET0}]))


def connection_of_a_link(host):
    host.set("client", f"fe80::1%{NET1} 50000 fe80::2%{NET1} 22")


def qdisc(host):
    host.set(f"qdisc-{NET1}", "qdisc clsact ffff: parent ffff:fff1\n")


def rule_of_a_vf_in_use(why):
    return f"the VF 0000:3b:00.2 is in use: {why}"


def another_namespace(host):
    host.vf(netdev="")


def vdpa(host):
    (host.vf() / "vdpa0").mkdir()


def two_hosts_of_one_card(host):
    (host.root / "sys/bus/pci/devices/0000:5e:00.0/vpd").write_bytes(vpd(SERIAL))


def lacks(host):
    (host.root / "bin/dcb").unlink()


GUARDS = [
    (juju, "a Juju agent, unit-ceph-osd-3, is on the host"),
    (route, f"{NET1} carries a route, 10.0.0.0/24"),
    (route_of_ipv6, f"{NET0} carries a route, 2001:db8::/64"),
    (route_of_several_hops, f"{NET1} carries a route, default"),
    (address, f"{NET0} carries a route, 10.0.0.7"),
    (connection, f"this connection goes through {NET0}"),
    (connection_of_a_link, f"this connection goes through {NET1}"),
    (lambda host: host.below(NET1, "bond0", bond=True), f"{NET1} is a member of bond0"),
    (lambda host: host.below(NET0, "ovs-system"), f"{NET0} is below ovs-system"),
    (qdisc, f"{NET1} has an ingress qdisc"),
    (lambda host: host.vf(driver="vfio-pci", netdev=""), rule_of_a_vf_in_use("it is bound to vfio-pci")),
    (another_namespace, rule_of_a_vf_in_use("its netdev is in another network namespace")),
    (lambda host: host.vf(flags="0x1003"), rule_of_a_vf_in_use("its netdev enp59s0f0v0 is up")),
    (vdpa, rule_of_a_vf_in_use("it has a vDPA device")),
    (lambda host: host.vf(), "the card has VFs, which would be lost"),
    (two_hosts_of_one_card, "0000:5e:00.0 is of the same card"),
    (lambda host: (host.root / f"sys/bus/pci/devices/{P0}/vpd").write_bytes(b""), "does not tell its serial"),
    (lambda host: host.set("uid", "1000\n"), "operator is not root there"),
    (lacks, "the host lacks dcb"),
    (lambda host: host.below(NET0, "calibrate0"), "the host has a netdev calibrate0"),
    (
        lambda host: (host.root / "units/ovn-offload-calibrate.timer").touch(),
        "another calibration is under way",
    ),
]


@pytest.mark.parametrize(("trouble", "reason"), GUARDS, ids=[reason for _, reason in GUARDS])
def test_a_card_in_use_or_an_unfit_host_is_refused_before_anything_is_written(host, trouble, reason):
    trouble(host)
    operator = Operator()
    with pytest.raises(CardError) as refused:
        record(operator)
    assert reason in str(refused.value)
    assert host.trace == []
    assert operator.asked == []


def test_all_reasons_are_told_at_once(host):
    juju(host)
    route(host)
    with pytest.raises(CardError) as refused:
        record()
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize("answer", ["", "yes", "MT2116X05678"])
def test_without_the_serial_number_nothing_is_changed(host, answer):
    with pytest.raises(CardError, match="not this card's serial number: nothing was changed"):
        record(Operator(answer))
    assert host.trace == []


def test_without_a_timer_nothing_is_changed(host):
    host.set("no-systemd-run", "")
    with pytest.raises(CardError, match="nothing was changed: Failed to start transient timer unit"):
        record()
    assert [line.split()[0] for line in host.trace] == ["systemd-run"]
    assert host.left == []


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


@pytest.mark.parametrize("sequence", SEQUENCES, ids=[each.name for each in SEQUENCES])
def test_no_sequence_writes_to_the_firmware(sequence):
    for operation in sequence.operations:
        assert not WRITES_FIRMWARE.search(operation.command)


@pytest.mark.parametrize(
    "command",
    [
        "mstconfig -d $PF0 -y set NUM_OF_VFS=8",
        "mstconfig -d $PF0 reset",
        "mlxconfig -d $PF0 set SRIOV_EN=1",
        "mstflint -d $PF0 -i image burn",
        "mstfwreset -d $PF0 reset",
        "devlink dev flash pci/$PF0 file image",
        "devlink dev reload pci/$PF0 action fw_activate",
        "devlink dev param set pci/$PF0 name enable_roce value false cmode driverinit",
    ],
)
def test_a_sequence_that_writes_to_the_firmware_is_refused(host, command):
    with pytest.raises(CardError, match="wrong would write to the firmware"):
        record(None, Sequence("wrong", "?", (Operation("write", command),)))
    assert host.trace == []


def test_a_host_that_cannot_be_reached_is_named(host):
    (host.root / "unreachable").touch()
    with pytest.raises(SshError, match="no connection to root@server: ssh: connect to host root@server"):
        find(SshShell("root@server"), P0)


def test_a_command_that_does_not_end_is_told(host, monkeypatch):
    monkeypatch.setattr(ssh, "GRACE", 0.3)
    with pytest.raises(SshError, match="root@server has not answered for 0 s"):
        SshShell("root@server").run("exec sleep 5", 0.1)


def test_an_exit_status_of_255_is_the_commands_own(host):
    done = SshShell("root@server").run("echo said; echo told >&2; exit 255", 5)
    assert (done.returncode, done.stdout, done.stderr) == (255, "said\n", "told\n")


def test_what_the_login_shell_prints_is_not_the_commands(host):
    host.set("greeting", "Welcome to server-7\nno mail\n")
    done = SshShell("root@server").run("echo said; echo told >&2", 5)
    assert (done.stdout, done.stderr) == ("said\n", "told\n")
    assert find(SshShell("root@server"), P0).addresses == tuple(PORTS)


def test_a_connection_that_is_lost_meanwhile_is_told(host):
    host.set("lost", "")
    with pytest.raises(SshError, match=r"^the connection was lost to root@server: closed by remote host$"):
        SshShell("root@server").run("echo said; echo closed by remote host >&2", 5)


def test_the_card_of_a_port_is_found(host):
    card = find(SshShell("root@server"), "5e:00.1")
    assert (card.addresses, card.netdevs) == (tuple(OTHER), tuple(OTHER.values()))


def test_a_port_that_is_not_there_is_named_with_the_cards_that_are(host):
    with pytest.raises(CardError, match=r"3c:00\.0 is no port .* mlx5_core has: 0000:3b:00, 0000:5e:00"):
        find(SshShell("root@server"), "3c:00.0")


@pytest.mark.parametrize(
    "data", [b"", b"\x82", b"\x90\x04\x00SN", b"\x90\x05\x00SN\x09AB", b"\x78", b"\xff" * 64]
)
def test_damaged_product_data_have_no_serial_number_or_what_is_left_of_it(data):
    assert serial_in(data) in ("", "AB")


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


def test_the_command_refuses_a_card_in_use_in_sentences(host, capsys):
    juju(host)
    assert main(["--host", "root@server", "--nic", "3b:00.0"]) == 1
    assert "a Juju agent, unit-ceph-osd-3, is on the host" in capsys.readouterr().err
    assert guards.UNIT not in "\n".join(host.trace)
