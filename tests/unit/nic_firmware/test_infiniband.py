# SPDX-License-Identifier: Apache-2.0
"""InfiniBand ports: those in use stay unless named, unused ones become Ethernet by their own step."""

import json
from collections.abc import Callable

import capture
import pytest
from commission import commission
from config import Options
from hostnic.capture.file import read
from hostnic.capture.reduce import OTHER
from hostnic.firmware.mstdatabase import Database
from lab.modelled import FakeCard, FakeHost, card, hca
from unit.nic_firmware.node import PF0, PF1, Node, machine

HCA0, HCA1 = "0000:5c:00.0", "0000:5c:00.1"
ACTIVE = "the InfiniBand link of mlx5_0 is ACTIVE with LID 26"

Made = Callable[..., Node]


@pytest.fixture
def made(database: Database, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A node with these cards beside the Ethernet NIC, both ports of which are in bond0."""

    def make(*cards: FakeCard, first: FakeCard | None = None) -> Node:
        host = machine(cards=[first or card(), *cards], bonded=first is None)
        return Node(host, database, monkeypatch)

    return make


def vpi(infiniband: int = 0, lid: int = 26) -> FakeCard:
    """A NIC with one InfiniBand port and one Ethernet port."""
    nic = card("5c")
    port = nic.ports[infiniband]
    kind = nic.settings[f"LINK_TYPE_P{infiniband + 1}"]
    kind.default = kind.current = kind.next_boot = 1
    port.netdev, port.link, port.lid = f"ibp92s0f{infiniband}", "4: ACTIVE", lid
    return nic


def without_netdev(nic: FakeCard) -> FakeCard:
    """ib_ipoib is not loaded."""
    for port in nic.ports:
        port.netdev = port.netdev.replace("ib", "en")
    return nic


def with_vfs_of_hca(host: FakeHost) -> None:
    """Its firmware offered VFs before, and somebody made two."""
    port = host.port(HCA0)
    port.total_vfs = 4
    host.files.write(f"/sys/bus/pci/devices/{HCA0}/sriov_numvfs", "2")


def firmware(host: FakeHost, bdf: str = HCA0) -> dict[str, int]:
    """Return the NIC's parameters at its next boot, as far as the profile ovn-offload sets them."""
    nic = next(nic for nic in host.cards if any(port.bdf == bdf for port in nic.ports))
    port = host.port(bdf).firmware
    found = {name: parameter.next_boot for name, parameter in nic.settings.items()}
    return {**found, "NUM_OF_VFS": port.next_num_of_vfs, "SRIOV_EN": int(port.next_sriov_en)}


USES: dict[str, tuple[Callable[[], FakeCard], Callable[[FakeHost], object], str]] = {
    "an address of IPoIB": (
        hca,
        lambda host: host.network.addresses.update(ibp92s0f0=["192.0.2.5"]),
        "ibp92s0f0 carries 192.0.2.5",
    ),
    "a bond of IPoIB": (hca, lambda host: host.network.uppers.update(bond9="ibp92s0f0"), "carries bond9"),
    "an active link without netdev": (lambda: without_netdev(hca(lids=[26])), lambda _: None, ACTIVE),
    "a link that waits for its subnet manager": (
        hca,
        lambda host: setattr(host.port(HCA0), "link", "2: INIT"),
        "the InfiniBand link of mlx5_0 is INIT with no LID yet",
    ),
    "a link whose netdev is in a container": (
        lambda: hca(lids=[26]),
        lambda host: host.fail("listdir", f"{HCA0}/net", OSError(2, "No such file or directory"), times=None),
        ACTIVE,
    ),
    "VFs": (hca, with_vfs_of_hca, "it has 2 VFs"),
    "a process": (
        hca,
        lambda host: host.open_rdma(HCA0, 4242, "mpirun"),
        "mlx5_0 is open in mpirun (4242)",
    ),
    "an instance that has the port": (
        hca,
        lambda host: setattr(host.port(HCA0), "driver", "vfio-pci"),
        "vfio-pci has it",
    ),
    "addresses that cannot be read": (
        hca,
        lambda host: host.fail("addresses", "ibp92s0f0", OSError(5, "Input/output error"), times=None),
        "perhaps an address",
    ),
    "a link that cannot be read": (
        hca,
        lambda host: host.fail("read", "mlx5_0/ports/1/state", OSError(5, "Input/output error"), times=None),
        "perhaps port 1 of mlx5_0",
    ),
    "an RDMA device that is out of sight": (
        hca,
        lambda host: setattr(host.port(HCA0), "rdma", False),
        "its RDMA device is not visible",
    ),
}


@pytest.mark.parametrize("policy", ["manual", "when-idle", "always"])
@pytest.mark.parametrize("use", USES)
def test_a_port_in_use_as_infiniband_keeps_its_firmware(made: Made, use: str, policy: str) -> None:
    nic, arrange, says = USES[use]
    node = made(nic())
    arrange(node.host)
    before = firmware(node.host)
    node.deploy(reboot_policy=policy, reboot_settle=0)
    assert firmware(node.host) == before
    assert node.next_boot("NUM_OF_VFS") == 8, "the Ethernet NIC is set"
    rows = json.loads(node.action("verify", format="json")["findings"])
    (found,) = [row for row in rows if row["subject"] == HCA0]
    assert found["severity"] == "info"
    assert says in found["what"]
    node.host.reboot()  # a crash
    assert node.host.cards[1].settings["LINK_TYPE_P1"].current == 1


def test_the_other_port_of_an_hca_in_use_is_left_alone_too(made: Made) -> None:
    node = made(hca(lids=[26]))
    before = firmware(node.host)
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert firmware(node.host) == before
    assert f"{HCA0} of the same NIC is in use as InfiniBand" in node.findings()


@pytest.mark.parametrize("infiniband", [0, 1])
def test_the_ethernet_port_of_a_vpi_nic_is_set_and_its_infiniband_port_is_not(
    made: Made, infiniband: int
) -> None:
    node = made(vpi(infiniband))
    node.host.network.addresses[f"enp92s0f{1 - infiniband}np{1 - infiniband}"] = ["10.0.0.5"]
    node.converge()
    kind = node.host.cards[1].settings
    assert [kind[f"LINK_TYPE_P{number}"].current for number in (1, 2)] == [
        2 - (infiniband == 0),
        2 - infiniband,
    ]
    assert firmware(node.host)["NUM_OF_VFS"] == 8


def test_a_parameter_for_an_infiniband_port_in_use_is_not_set_and_the_rest_is(made: Made) -> None:
    node = made(vpi(1))
    node.deploy(parameters="LINK_TYPE_P2=ETH CNP_DSCP_P1=26", reboot_policy="manual")
    assert firmware(node.host)["LINK_TYPE_P2"] == 1
    assert firmware(node.host)["CNP_DSCP_P1"] == 26
    assert "LINK_TYPE_P2=2 (option parameters) is not set, since this InfiniBand port is left alone" in (
        node.findings()
    )


# Unused ones.


def test_an_unused_infiniband_port_waits_for_the_operators_decision(made: Made) -> None:
    node = made(hca(ports=1))
    before = firmware(node.host)
    node.deploy(reboot_policy="manual")
    assert firmware(node.host) == before
    held = node.action("plan")["plan"].partition("held step")[2]
    assert f"make InfiniBand port {HCA0} Ethernet from the next boot on: set LINK_TYPE_P1=2 on {HCA0}" in held
    assert "host-network-cut" in held
    assert "InfiniBand port, left alone: unused" in node.findings()
    node.host.reboot()
    assert firmware(node.host) == before
    node.action("set-parameters", devices=HCA0, parameters="LINK_TYPE_P1=ETH")
    node.host.reboot()
    assert node.host.cards[1].settings["LINK_TYPE_P1"].current == 2
    node.emit()
    assert firmware(node.host)["NUM_OF_VFS"] == 8, "it is an Ethernet port now"


@pytest.mark.parametrize("policy", ["when-idle", "always"])
def test_a_policy_that_reboots_without_approval_converts_it_in_a_step_of_its_own(
    made: Made, policy: str
) -> None:
    node = made(hca(ports=1))
    node.configure(reboot_policy=policy, reboot_settle=0)
    plan = node.action("plan")["plan"]
    (line,) = [line for line in plan.splitlines() if f"make InfiniBand port {HCA0} Ethernet" in line]
    assert "it has no active link, address or user as InfiniBand" in line
    assert "host-network-cut" in line
    node.converge(reboot_policy=policy)
    assert node.host.cards[1].settings["LINK_TYPE_P1"].current == 2


def test_firmware_that_cannot_be_ethernet_blocks_nothing(made: Made) -> None:
    nic = hca(ports=1)
    del nic.settings["LINK_TYPE_P1"]
    nic.infiniband_only = True
    nic.lacks.add("LINK_TYPE_P1")
    node = made(nic)
    assert node.converge().name == "active"
    assert "this port stays InfiniBand: its firmware does not offer LINK_TYPE_P1" in node.findings()
    assert firmware(node.host)["NUM_OF_VFS"] == 4


# Named ones.


@pytest.mark.parametrize("policy", ["manual", "always"])
def test_a_named_port_is_converted_although_it_is_in_use(made: Made, policy: str) -> None:
    node = made(hca(lids=[26, 27]))
    node.deploy(devices=f"bond0 {HCA0}", reboot_policy=policy, reboot_settle=0)
    found = firmware(node.host)
    assert (found["LINK_TYPE_P1"], found["LINK_TYPE_P2"]) == (2, 1)


def test_a_named_ethernet_port_does_not_name_the_infiniband_port_beside_it(made: Made) -> None:
    node = made(vpi(1))
    node.deploy(devices="enp92s0f0np0", reboot_policy="always", reboot_settle=0)
    assert firmware(node.host)["LINK_TYPE_P2"] == 1
    assert firmware(node.host)["NUM_OF_VFS"] == 8


def test_a_host_whose_nics_are_all_in_use_as_infiniband_is_as_declared(made: Made) -> None:
    node = made(first=hca(lids=[26, 27]))
    assert node.deploy(reboot_policy="manual").name == "active"
    assert node.mst() == []


# Actions.


def test_actions_on_auto_pass_over_infiniband_and_refuse_what_takes_it(made: Made) -> None:
    node = made(vpi(1))
    node.deploy(profile="", reboot_policy="manual")
    node.action("set-parameters", parameters="CNP_DSCP_P1=26")
    said = node.failure("set-parameters", devices="enp92s0f0np0", parameters="LINK_TYPE_P2=ETH")
    assert "would make this InfiniBand port Ethernet; the InfiniBand link of" in said
    node.host.cards[1].settings["LINK_TYPE_P2"].default = 2
    said = node.failure("reset-parameters", devices="enp92s0f0np0", confirm=True)
    assert "LINK_TYPE_P2=2 (its default) would make this InfiniBand port Ethernet" in said
    assert firmware(node.host)["LINK_TYPE_P2"] == 1


def test_no_reset_interrupts_the_infiniband_port_of_a_vpi_nic(made: Made) -> None:
    node = made(first=vpi(1))
    node.deploy(activation="reset", reboot_policy="manual")
    assert not [line for line in node.host.spawned if "mstfwreset" in line]
    assert "no reset: the InfiniBand link of" in node.action("plan")["plan"]


def test_a_capture_shows_the_users_of_a_port_and_no_other_file_that_is_open(made: Made) -> None:
    node = made(hca(ports=1))
    node.host.disk.install("/proc/4711/comm", b"backup\n", 0o444)
    node.host.disk.link("/proc/4711/fd/3", "/srv/customer/plan.txt")
    node.host.open_rdma(HCA0, 4242, "mpirun")
    found = read(node.action("capture")["capture"])
    assert found.system.files.readlink("/proc/4711/fd/3") == OTHER
    assert "mlx5_0 is open in" in capture.show(found.system, found.inputs).tables["verify"]


# Before deployment.


def test_commissioning_leaves_an_active_infiniband_port_alone_and_says_so(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    host = machine(cards=[card(), without_netdev(hca(lids=[26]))], bonded=False)
    before = firmware(host)
    assert commission(host, database, Options())[0] == "passed"
    assert firmware(host) == before
    assert firmware(host, PF0)["NUM_OF_VFS"] == 8
    shown = capsys.readouterr().out
    assert any(HCA0 in line and "InfiniBand port, left alone" in line for line in shown.splitlines())
    assert commission(host, database, Options(devices=f"{PF1} {HCA0}"))[0] == "passed"
    assert firmware(host)["LINK_TYPE_P1"] == 2


def test_commissioning_makes_an_unused_port_ethernet(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    host = machine(cards=[hca()], bonded=False)
    assert commission(host, database, Options())[0] == "passed"
    assert [firmware(host)[f"LINK_TYPE_P{number}"] for number in (1, 2)] == [2, 2]
    assert f"make InfiniBand port {HCA1} Ethernet" in capsys.readouterr().out


def test_commissioning_sets_only_the_nics_that_are_named(database: Database) -> None:
    host = machine(cards=[card(), card("5e")], bonded=False)
    assert commission(host, database, Options(devices=PF0))[0] == "passed"
    assert firmware(host, "0000:5e:00.0")["NUM_OF_VFS"] == 4


def test_a_port_in_use_that_becomes_ethernet_at_the_next_boot_waits_for_the_operator(made: Made) -> None:
    """Whoever has set it so."""
    nic = hca(lids=[26, 27])
    nic.settings["LINK_TYPE_P1"].next_boot = 2
    node = made(nic)
    status = node.deploy(reboot_policy="always", reboot_settle=0)
    assert status.name == "blocked"
    assert "LINK_TYPE_P1 is ETH(2) at the next boot" in node.findings()
    assert not node.reboots_asked
    node.action("set-parameters", devices=HCA0, parameters="LINK_TYPE_P1=IB")
    node.emit("update_status")
    assert node.reboots_asked
    node.boot()
    assert nic.settings["LINK_TYPE_P1"].current == 1
    assert "LINK_TYPE" not in node.findings()
