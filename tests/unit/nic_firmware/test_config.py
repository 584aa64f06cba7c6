# SPDX-License-Identifier: Apache-2.0
"""Options and action parameters: ten wrong values each give one sentence, and not one write to a NIC."""

import pytest
from charmkit.output import Output
from config import Query, ResetParameters, Restore, SetParameters
from unit.nic_firmware.node import Node
from unit.options import REBOOT, VFS, WrongOptions

WRONG = {
    **REBOOT,
    **VFS,
    "devices": [
        "", "   ", "auto enp63s0f0", "enp63s0f0:8", "enp63s0f0:-1", "enp63s0f0:many", "3b:00.0:8",
        "enp63s0f0 enp63s0f0", "a-name-of-20-letters", "/dev/net",
    ],
    "profile": [
        "ovn", "OVN-OFFLOAD", "ovn-offload throughput", "ovn-offload;throughput", "ovn-offload,",
        ",gpudirect", "all", "none", "gpu-direct", "ovn-offload,rdg",
    ],
    "parameters": [
        "NUM_OF_VFS", "NUM_OF_VFS=", "=8", "num_of_vfs=8", "NUM_OF_VFS=8 NUM_OF_VFS=9", "NUM_OF_VFS = 8",
        "NUM_OF_VFS:8", "NUM_OF_VFS=8,SRIOV_EN=1", "$(reboot)=1", "NUM_OF_VFS=8;reboot",
    ],
    "firmware-policy": ["", "Auto", "always", "manual", "yes", "burn", "never ", "auto,action", "0", "none"],
    "firmware-url": [
        "https://host/fw\0.bin", "https://host/fw\x1b[2J.bin", "https://\0/fw.bin",
        "ftp://host/fw.bin", "fw.bin", "/srv/fw.bin", "http:/host/fw.bin", "https://", "http://host", " ",
        "file:///srv/fw.bin", "https:// host/fw.bin", "javascript:1",
    ],
    "firmware-sha256": [
        "abc", "A" * 64, "g" * 64, "0" * 63, "0" * 65, "sha256:" + "0" * 64, " " + "0" * 64, "0x" + "0" * 62,
        "-" * 64, "true",
    ],
    "activation": ["", "Reboot", "now", "none", "reset ", "reboot,reset", "mstfwreset", "yes", "true", "3"],
    "reboot-owner": ["", "nic-firmware", "Self", "me", "roce-qos", "none", "self ", "both", "true", "0"],
}  # fmt: skip


class TestNicFirmware(WrongOptions):
    wrong, outputs = WRONG, (Output, Query)
    actions = ("plan", "verify", "list-devices", "query", "backup")


def test_a_value_that_the_database_refuses_blocks_before_any_write(node: Node) -> None:
    assert node.configure(parameters="NUM_VF_MSIX=1024").emit().name == "blocked"
    assert node.mst() == []
    assert "option parameters" in node.findings()
    assert "'1024' is not allowed; it takes a whole number from 0 to 1023" in node.findings()


NAMES = [
    ("NUM_OF_VF=8", "similar names: NUM_OF_VFS"),
    ("QUITE_OTHER=1", "mstflint's database has no QUITE_OTHER"),
]


@pytest.mark.parametrize(("parameters", "says"), NAMES)
def test_an_unknown_name_is_a_warning_with_similar_names(node: Node, parameters: str, says: str) -> None:
    node.configure(profile="", parameters=parameters).emit()
    assert says in node.findings()
    assert "the firmware does not offer" in node.findings()
    assert node.mst() == []


def test_a_name_that_only_the_nic_knows_is_set(node: Node) -> None:
    node.known = type(node.known)({k: v for k, v in node.known.entries.items() if k != "NUM_VF_MSIX"})
    node.configure(profile="", parameters="NUM_VF_MSIX=31").emit()
    assert node.next_boot("NUM_VF_MSIX") == 31
    assert "mstflint's database has no NUM_VF_MSIX" in node.findings()


def test_without_a_database_the_firmware_itself_decides(node: Node) -> None:
    node.known = type(node.known)()
    assert node.deploy(profile="ovn-offload,throughput").name == "blocked"
    assert (node.next_boot("NUM_VF_MSIX"), node.next_boot("MAX_ACC_OUT_READ")) == (63, 44)
    status = node.configure(parameters="NUM_VF_MSIX=2000").emit()
    assert status.name == "blocked"
    assert "larger than maximum allowed" in node.log


@pytest.mark.parametrize("value", WRONG["parameters"])
def test_set_parameters_refuses_what_the_option_refuses(value: str) -> None:
    with pytest.raises(ValueError, match=r"^parameters: .* is not allowed; expected NAME=value"):
        SetParameters(parameters=value)


@pytest.mark.parametrize("value", ["auto", *WRONG["devices"][:9]])
def test_reset_and_restore_need_the_name_of_a_port(value: str) -> None:
    with pytest.raises(ValueError, match="device"):
        ResetParameters(devices=value)
    with pytest.raises(ValueError, match="device"):
        Restore(device=value, backup="A=1")
