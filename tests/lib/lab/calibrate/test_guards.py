# SPDX-License-Identifier: Apache-2.0
"""The guards of a calibration, one by one: nothing is written to a card in use or on an unfit host."""

import json

import pytest
from lab.calibrate import guards
from lab.calibrate.__main__ import main
from lab.calibrate.guards import WRITES_FIRMWARE
from lab.calibrate.sequence import Operation, Sequence
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import CardError
from lib.lab.calibrate.calibration import NET0, NET1, P0, Operator, host, record
from lib.lab.calibrate.modelled import SERIAL, vpd

__all__ = ["host"]


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


def test_the_command_refuses_a_card_in_use_in_sentences(host, capsys):
    juju(host)
    assert main(["--host", "root@server", "--nic", "3b:00.0"]) == 1
    assert "a Juju agent, unit-ceph-osd-3, is on the host" in capsys.readouterr().err
    assert guards.UNIT not in "\n".join(host.trace)
