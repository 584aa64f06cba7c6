# SPDX-License-Identifier: Apache-2.0
"""Boot from the network: the profile that turns it on, and the warning while a machine is commissioned."""

import pytest
from commission import commission as run
from config import Options
from hostnic.firmware.mstdatabase import Database
from lab.modelled import FakeHost
from lab.modelled.nic.mst import BOOL, FakeParameter
from unit.nic_firmware.node import PF0, PF1, Node

EFI = "/sys/firmware/efi/fw_platform_size"
OFF = "no boot from the network in"


def in_uefi_mode(host: FakeHost) -> FakeHost:
    host.files.install(EFI, b"64\n")
    host.trace.clear()
    return host


def test_the_profile_turns_it_on_for_both_modes_with_one_reboot(node: Node) -> None:
    card = node.host.cards[0]
    card.ports[1].settings["LEGACY_BOOT_PROTOCOL"].default = 0
    card.ports[1].settings["LEGACY_BOOT_PROTOCOL"].current = 0
    card.ports[1].settings["LEGACY_BOOT_PROTOCOL"].next_boot = 0
    card.settings["EXP_ROM_PXE_ENABLE"].next_boot = 0
    status = node.deploy(profile="network-boot")
    assert "approve-reboot" in status.message
    assert [card.settings[name].next_boot for name in ("EXP_ROM_UEFI_x86_ENABLE", "EXP_ROM_PXE_ENABLE")] == [
        1,
        1,
    ]
    assert [port.settings["LEGACY_BOOT_PROTOCOL"].next_boot for port in card.ports] == [1, 1]
    node.host.trace.clear()
    assert node.emit() == status
    assert not [line for line in node.host.trace if " set " in line]


def test_a_card_without_a_flexboot_is_right_without_it(host: FakeHost, database: Database) -> None:
    host.cards[0].lacks |= {"EXP_ROM_PXE_ENABLE", "LEGACY_BOOT_PROTOCOL", "UEFI_HII_EN"}
    status, results = run(host, database, Options(profile="network-boot"))
    assert (status, results["left"]) == ("passed", "nothing")
    assert host.cards[0].settings["EXP_ROM_UEFI_x86_ENABLE"].next_boot == 1


def test_commissioning_warns_of_a_card_that_the_bios_does_not_boot_from(
    host: FakeHost, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    status, results = run(in_uefi_mode(host), database, Options())
    assert status == "passed"
    said = " ".join(capsys.readouterr().out.split())
    for shown in (said, results["network-boot"]):
        assert f"{OFF} UEFI mode: EXP_ROM_UEFI_x86_ENABLE is False(0)" in shown
    assert "add network-boot to profile" in said


def test_with_the_profile_commissioning_has_nothing_to_warn_of(
    host: FakeHost, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    status, results = run(in_uefi_mode(host), database, Options(profile="ovn-offload,network-boot"))
    assert (status, results["network-boot"]) == ("passed", "no warning")
    assert OFF not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flexboot", "protocols", "warns"),
    [
        (1, (1, 1), False),
        (1, (0, 1), False),  # one port is enough
        (1, (0, 4), False),
        (1, (0, 5), True),  # iSCSI alone
        (0, (1, 1), True),
    ],
)
def test_in_legacy_mode_flexboot_has_to_offer_a_port(
    host: FakeHost,
    database: Database,
    capsys: pytest.CaptureFixture[str],
    flexboot: int,
    protocols: tuple[int, int],
    warns: bool,
) -> None:
    host.cards[0].settings["EXP_ROM_PXE_ENABLE"].next_boot = flexboot
    for bdf, protocol in zip((PF0, PF1), protocols):
        host.port(bdf).settings["LEGACY_BOOT_PROTOCOL"].next_boot = protocol
    assert run(host, database, Options())[0] == "passed"
    assert (f"{OFF} legacy mode" in capsys.readouterr().out) == warns


def test_firmware_that_knows_no_network_boot_is_named(
    host: FakeHost, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    host.cards[0].lacks |= {"EXP_ROM_UEFI_x86_ENABLE", "EXP_ROM_PXE_ENABLE", "LEGACY_BOOT_PROTOCOL"}
    assert run(in_uefi_mode(host), database, Options())[0] == "passed"
    assert "its firmware has no driver for it" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("machine", "warns"), [("x86_64", True), ("aarch64", False)])
def test_the_driver_of_another_architecture_boots_nothing(
    host: FakeHost, database: Database, machine: str, warns: bool
) -> None:
    host.cards[0].settings["EXP_ROM_UEFI_ARM_ENABLE"] = FakeParameter(1, BOOL)
    _, results = run(in_uefi_mode(host), database, Options(), machine=machine)
    assert (OFF in results["network-boot"]) == warns
