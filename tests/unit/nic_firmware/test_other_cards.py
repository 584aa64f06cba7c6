# SPDX-License-Identifier: Apache-2.0
"""Cards beside those that this charm is for: passed over by ``auto``; and BlueFields in their two modes."""

from collections.abc import Callable, Sequence

import pytest
from commission import commission
from config import Options
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from lab.modelled import FakeHost, card
from lab.modelled.nic.mst import FakeParameter
from unit.nic_firmware.node import PF0, Node, machine, rdg

OLD = "0000:5e:00.0"
Made = Callable[[FakeHost], Node]


@pytest.fixture
def made(database: Database, monkeypatch: pytest.MonkeyPatch) -> Made:
    return lambda host: Node(host, database, monkeypatch)


def unknown(host: FakeHost) -> FakeHost:
    """mstflint of this machine does not know the card in 5e:00."""
    for port in ("0000:5e:00.0", "0000:5e:00.1"):
        said = failure(["mstconfig"], 3, "-E- Failed to identify the device\n", "")
        host.answers[("mstconfig", "-d", port)] = said
    return host


@pytest.mark.parametrize("device", ["15b3:1003", "15b3:1007"])
def test_auto_passes_over_a_connectx_3(made: Made, device: str) -> None:
    node = made(machine(cards=[card(), card("5e", device=device, driver="mlx4_core")]))
    assert node.converge().name == "active"
    assert node.findings().count("auto leaves ConnectX-3 cards alone: 5e:00") == 1
    assert not [call for call in node.mst() if "5e:00" in call]


def test_a_host_that_has_only_a_connectx_3_is_no_failure(made: Made) -> None:
    node = made(machine(cards=[card("5e", device="15b3:1003", driver="mlx4_core")]))
    assert node.converge().name == "active"
    assert "auto leaves ConnectX-3 cards alone: 5e:00" in node.findings()


def test_a_virtual_machine_with_a_vf_has_no_nic(made: Made) -> None:
    node = made(machine(cards=[card(device="15b3:101e", ports=1)]))
    node.converge()
    assert "relate it to applications on hosts with one" in node.findings()
    assert node.mst() == []


def test_auto_passes_over_a_card_that_mstflint_no_longer_knows(made: Made) -> None:
    node = made(unknown(machine(cards=[card(), card("5e")])))
    assert node.converge().name == "active"
    assert node.findings().count("mstflint does not know this device") == 1
    assert node.next_boot("NUM_OF_VFS") == 8


def test_commissioning_passes_with_such_a_card(database: Database) -> None:
    host = unknown(machine(cards=[card(), card("5e")]))
    assert commission(host, database, Options(profile="ovn-offload", num_vfs=8))[0] == "passed"


def test_a_named_card_that_mstflint_does_not_know_blocks(made: Made) -> None:
    node = made(unknown(machine(cards=[card(), card("5e")])))
    assert node.configure(devices=f"0000:3b:00.0 {OLD}").set_up().name == "blocked"
    assert "take it out of option devices, or install a newer mstflint" in node.findings()


class Flips(FakeHost):
    """A BlueField whose firmware goes to DPU mode as soon as any parameter is set."""

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
        said = super().run(argv, timeout, given)
        if argv[0] == "mstconfig" and "set" in argv:
            self.cards[0].settings["INTERNAL_CPU_OFFLOAD_ENGINE"].next_boot = 0
        return said


@pytest.mark.parametrize("kind", [FakeHost, Flips])
def test_the_mode_of_a_bluefield_is_read_back_after_a_change(made: Made, kind: type[FakeHost]) -> None:
    host = machine(kind)
    host.cards[0].device = "15b3:a2d6"
    engine = host.cards[0].settings["INTERNAL_CPU_OFFLOAD_ENGINE"] = FakeParameter(0, ("ENABLED", "DISABLED"))
    engine.current = engine.next_boot = 1
    node = made(host)
    node.set_up()
    if kind is Flips:
        assert "is in DPU mode from the next boot on" in node.findings()
        assert "set-parameters devices=0000:3b:00.0 parameters=INTERNAL_CPU_OFFLOAD_ENGINE=1" in (
            node.findings()
        )
        assert node.reboots_asked == 0
    else:
        assert "DPU mode" not in node.findings()


def dpu(node: Node) -> None:
    nic = node.host.cards[0]
    nic.device = "15b3:a2d6"
    nic.settings["INTERNAL_CPU_OFFLOAD_ENGINE"] = FakeParameter(0, ("ENABLED", "DISABLED"))


def first_generation(node: Node) -> None:
    """A BlueField-1, whose firmware has no parameter of the offload engine."""
    nic = node.host.cards[0]
    nic.device = "15b3:a2d2"
    model = nic.settings["INTERNAL_CPU_MODEL"] = FakeParameter(0, ("SEPARATED_HOST", "EMBEDDED_CPU"))
    model.current = model.next_boot = 1


@pytest.mark.parametrize("runs_itself", [dpu, first_generation])
def test_a_bluefield_in_dpu_mode_is_left_alone(node: Node, runs_itself: Callable[[Node], None]) -> None:
    runs_itself(node)
    status = node.emit()
    assert status.name == "blocked"
    assert "the BlueField is in DPU mode, where its own system owns the firmware" in node.findings()
    assert node.mst() == []


def test_a_bluefield_in_dpu_mode_with_the_right_values_is_not_blocked(node: Node) -> None:
    rdg(node.host)
    dpu(node)
    assert node.emit().name == "active"


def test_a_bluefield_is_never_reset_to_defaults(node: Node) -> None:
    dpu(node)
    assert "may switch it from NIC to DPU mode" in node.failure("reset-parameters", devices=PF0, confirm=True)
    assert node.mst() == []
