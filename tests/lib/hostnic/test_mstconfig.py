# SPDX-License-Identifier: Apache-2.0
"""mstconfig's answers, in the layouts of the releases that jammy, noble and Debian 13 ship."""

import pytest
from hostnic import mstconfig
from hostnic.process import CommandError, failure
from hostnic.testing import FakeHost
from hypothesis import given
from hypothesis import strategies as st

V4_21 = """
Device #1:
----------

Device type:    ConnectX6DX
Name:           MCX623106AC-CDA_Ax
Description:    ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56; PCIe 4.0 x16;
Device:         3f:00.0

Configurations:                                      Default             Current         Next Boot
*        NUM_OF_VFS                                  0                   8               16
         SRIOV_EN                                    False(0)            True(1)         True(1)
         HOST_CHAINING_DESCRIPTORS                   Array[0..7]         Array[0..7]     Array[0..7]
         UPT_EMULATION                               N/A                 N/A             N/A
The '*' shows parameters with next value different from default/current value.
"""
V4_26 = """
Device #1:
----------

Device type:        ConnectX6DX
Device:             3f:00.0

Configurations:                                          Default             Current             Next Boot
*           NUM_OF_VFS                                  0                   8                    16
RO          MEMIC_BAR_SIZE                              0                   0                    0
*    RO     SRIOV_EN                                    False(0)            True(1)              True(1)
The '*' shows parameters with next value different from default/current value.
RO - Read only parameters.
"""
NO_CURRENT = """
Configurations:                              Next Boot
         NUM_OF_VFS                          16
         SRIOV_EN                            True(1)
"""


@pytest.mark.parametrize("text", [V4_21, V4_26, NO_CURRENT])
def test_the_next_boot_is_read_from_each_layout(text: str) -> None:
    parameters = mstconfig.parse(text)
    assert parameters["NUM_OF_VFS"].next_boot == "16"
    assert parameters["SRIOV_EN"].next_boot == "True(1)"


@pytest.mark.parametrize("text", [V4_21, V4_26])
def test_current_and_default_stand_beside_it(text: str) -> None:
    assert mstconfig.parse(text)["NUM_OF_VFS"] == mstconfig.Parameter("0", "8", "16")


def test_text_around_the_table_is_no_parameter() -> None:
    assert set(mstconfig.parse(V4_26)) == {"NUM_OF_VFS", "MEMIC_BAR_SIZE", "SRIOV_EN"}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("8", 8),
        ("True(1)", 1),
        ("ETH(2)", 2),
        ("0x10", 16),
        ("N/A", None),
        ("Array[0..7]", None),
        (None, None),
    ],
)
def test_numbers(value: str | None, number: int | None) -> None:
    assert mstconfig.number(value) == number


@given(st.text())
def test_any_text_is_a_table_or_an_empty_one(text: str) -> None:
    assert all(name for name in mstconfig.parse(text))


@given(st.lists(st.sampled_from([*V4_21.splitlines(), *V4_26.splitlines()])))
def test_lines_in_any_order_never_fail(lines: list[str]) -> None:
    for parameter in mstconfig.parse("\n".join(lines)).values():
        mstconfig.number(parameter.next_boot)


BDF = "0000:3b:00.0"


@pytest.mark.parametrize("version", ["4.21", "4.26"])
def test_vfs_after_the_next_boot(version: str) -> None:
    host = FakeHost()
    host.mstconfig_version = version
    host.port(BDF).firmware.next_num_of_vfs = 16
    assert mstconfig.vfs_after_next_boot(host, BDF) == 16
    host.port(BDF).firmware.next_sriov_en = False
    assert mstconfig.vfs_after_next_boot(host, BDF) == 0
    assert host.trace == []


ARGV = ("mstconfig", "-d", BDF, "-e", "query", "NUM_OF_VFS", "SRIOV_EN")


def test_a_partial_answer_counts() -> None:
    host = FakeHost()
    host.answers[ARGV] = failure(ARGV, 3, V4_21 + "-E- Failed to query some of the TLVs:\nX\n", "")
    assert mstconfig.vfs_after_next_boot(host, BDF) == 16


def test_firmware_too_old_for_current_values_is_asked_for_the_next_ones() -> None:
    host = FakeHost()
    host.answers[ARGV] = failure(ARGV, 3, f"-E- Device Firmware {mstconfig.NO_CURRENT}\n", "")
    host.answers[(*ARGV[:3], *ARGV[4:])] = NO_CURRENT
    assert mstconfig.vfs_after_next_boot(host, BDF) == 16


def test_a_parameter_that_the_firmware_lacks_is_unknown() -> None:
    host = FakeHost()
    host.answers[ARGV] = failure(ARGV, 3, "-E- The Device doesn't support NUM_OF_VFS parameter\n", "")
    assert mstconfig.vfs_after_next_boot(host, BDF) is None


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (failure(ARGV, 3, "-E- Failed to open the device\n", ""), "mstconfig: Failed to open the device"),
        (CommandError(ARGV, "mstconfig is not installed"), "mstconfig is not installed"),
    ],
)
def test_a_failure_is_one_sentence(error: CommandError, says: str) -> None:
    host = FakeHost()
    host.answers[ARGV] = error
    with pytest.raises(CommandError) as raised:
        mstconfig.vfs_after_next_boot(host, BDF)
    assert str(raised.value) == says
