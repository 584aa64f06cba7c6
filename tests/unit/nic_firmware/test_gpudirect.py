# SPDX-License-Identifier: Apache-2.0
"""The profile gpudirect on the host's side: registers set now and at each boot, never while instances run."""

import json

import pytest
from boot import files, main
from lab.modelled.nic.pcispace import FakeBridge
from unit.nic_firmware.node import PF0, PF1, Node, rdg

ROOT, OLD = "0000:00:01.0", "0000:00:02.0"
AMD = b"processor\t: 0\nvendor_id\t: AuthenticAMD\n"


@pytest.fixture
def direct(node: Node) -> Node:
    """A host with a bridge that has ACS and one that has not, and the profile on."""
    rdg(node.host)
    node.host.cards[0].settings["ATS_ENABLED"].current = 1
    node.host.cards[0].settings["ATS_ENABLED"].next_boot = 1
    node.host.bridges = {ROOT: FakeBridge(), OLD: FakeBridge(acs_offers=None)}
    node.host.services = {files.UNIT: main.gpudirect_at_boot}
    return node.configure(profile="ovn-offload,gpudirect", reboot_settle=0)


def registers(node: Node) -> tuple[int, list[int], int]:
    """ACS of the bridge, MRRS of the ports, ATC of the NIC."""
    nic = node.host.cards[0]
    return node.host.bridges[ROOT].acs, [port.mrrs for port in nic.ports], nic.atc


def test_registers_are_set_and_a_unit_sets_them_at_each_boot(direct: Node) -> None:
    assert direct.emit().name == "active"
    assert registers(direct) == (0x5D, [5, 5], 0)
    assert direct.mst() == [
        f"run setpci -s {ROOT} ECAP_ACS+0x6.w=005d",
        f"run setpci -s {PF0} CAP_EXP+08.w=5000:f000",
        f"run setpci -s {PF1} CAP_EXP+08.w=5000:f000",
    ]
    assert json.loads(direct.host.files.read(files.WANTED)) == {"version": 1, "nics": [PF0, PF1]}
    assert "Before=libvirtd.service" in direct.host.files.read(f"/etc/systemd/system/{files.UNIT}")
    direct.host.reboot()
    assert registers(direct) == (0x5D, [5, 5], 0)
    assert direct.emit("start").name == "active"
    assert direct.mst() == []


def test_on_amd_the_nics_atc_register_is_set_too(direct: Node) -> None:
    direct.host.disk.install("/proc/cpuinfo", AMD, 0o444)
    assert direct.emit().name == "active"
    assert f"run mstmcra {PF0} 0xa1334.16:5 24" in direct.mst()
    assert registers(direct)[2] == 24
    assert direct.emit().name == "active"
    assert direct.writes == []


def test_only_bits_that_the_bridge_supports_are_set(direct: Node) -> None:
    direct.host.bridges[ROOT] = FakeBridge(acs_offers=0x1F)
    assert direct.emit().name == "active"
    assert direct.host.bridges[ROOT].acs == 0x1D


def test_while_an_instance_runs_registers_wait_for_the_next_boot(direct: Node) -> None:
    path = "/run/libvirt/qemu/instance-00000007.xml"
    direct.host.disk.install(path, b"<domstatus/>", 0o600)
    assert direct.emit().name == "active"
    assert direct.mst() == []
    assert "the next boot sets it, since instances run: instance-00000007" in direct.findings()
    plan = direct.action("plan")["plan"]
    assert "instances run: instance-00000007" in plan
    direct.host.reboot()
    assert registers(direct)[0] == 0x5D


def test_the_boot_unit_touches_nothing_while_an_instance_runs(direct: Node) -> None:
    direct.emit()
    direct.host.bridges[ROOT].acs = 0
    direct.host.disk.install("/run/libvirt/qemu/instance-00000007.xml", b"<domstatus/>", 0o600)
    (said,) = main.gpudirect_at_boot(direct.host)
    assert said == "nothing is set while instances run: instance-00000007"
    assert direct.host.bridges[ROOT].acs == 0


def test_a_port_that_is_gone_at_boot_does_not_keep_the_others_from_being_set(direct: Node) -> None:
    """Its instances are started next, and no hook sets a register while they run."""
    direct.emit()
    direct.host.port(PF0).gone = True
    direct.host.services = {}
    direct.host.reboot()
    (said,) = main.gpudirect_at_boot(direct.host)
    assert said == f"{PF0}: No such file or directory"
    assert registers(direct) == (0x5D, [2, 5], 0)


@pytest.mark.parametrize("register", ["config", "class"])
def test_a_bridge_that_cannot_be_read_at_boot_does_not_keep_the_nics_from_being_set(
    direct: Node, register: str
) -> None:
    direct.emit()
    direct.host.services = {}
    direct.host.reboot()
    direct.host.fail("read", f"{OLD}/{register}", OSError(5, "Input/output error"), times=None)
    (said,) = main.gpudirect_at_boot(direct.host)
    assert said == f"{OLD}: Input/output error"
    assert registers(direct) == (0x5D, [5, 5], 0)


def test_no_register_of_another_makers_card_is_read_or_written(direct: Node) -> None:
    """PCI addresses change when a card is added; mstmcra writes to any device that it is given."""
    direct.host.disk.install("/proc/cpuinfo", AMD, 0o444)
    direct.emit()
    direct.host.services = {}
    direct.host.reboot()
    direct.host.cards[0].device = "8086:159b"
    direct.host.trace.clear()
    direct.host.spawned.clear()
    said = main.gpudirect_at_boot(direct.host)
    why = "another maker's card is at this address, and is left alone"
    assert said == [f"{PF0}: {why}", f"{PF1}: {why}"]
    assert not [argv for argv in direct.host.spawned if PF0 in argv or PF1 in argv]
    assert registers(direct) == (0x5D, [2, 2], 0)


def test_a_register_that_does_not_take_is_named(direct: Node) -> None:
    direct.host.answers[("setpci",)] = ""
    assert direct.emit().name == "blocked"
    assert f"ACS of {ROOT} does not take 0x5d" in direct.log
    assert "enable ACS in the BIOS, which may own it" in direct.log
    assert len(main.gpudirect_at_boot(direct.host)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 99_999,
        '{"version": 2, "nics": []}',
        '{"version": 1}',
        '{"version": 1, "nics": [1]}',
    ],
)
def test_the_boot_unit_names_a_file_that_it_cannot_read(direct: Node, text: str) -> None:
    direct.emit()
    direct.host.disk.install(files.WANTED, text.encode(), 0o600)
    (said,) = main.gpudirect_at_boot(direct.host)
    assert files.WANTED in said


def test_the_boot_unit_names_a_file_that_is_not_there(direct: Node) -> None:
    direct.emit()
    direct.host.disk.remove(files.WANTED)
    assert main.gpudirect_at_boot(direct.host) == [f"{files.WANTED}: No such file or directory"]


def test_without_the_profile_nothing_is_installed_and_what_was_installed_is_removed(direct: Node) -> None:
    direct.emit()
    assert direct.host.disk.exists(files.COPY.path)
    direct.configure(profile="ovn-offload").emit()
    for path in (*files.PATHS, files.COPY.path, files.COPY.stamp_path):
        assert not direct.host.disk.exists(path)
    assert sorted(direct.host.files.listdir(files.COPY.directory)) == ["exporter.pyz", "exporter.stamp"]
    assert direct.emit().name == "active"
    assert direct.writes == []


def test_the_stop_hook_removes_the_unit(direct: Node) -> None:
    direct.emit()
    direct.emit("stop")
    assert not [path for path in direct.host.disk.content if "ovn-offload" in path and "/etc/" in path]
    assert not direct.host.disk.exists(files.COPY.directory)


def test_a_wrong_argument_of_the_boot_copy() -> None:
    assert main.main(["early"]) == 5
