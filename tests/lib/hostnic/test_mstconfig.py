# SPDX-License-Identifier: Apache-2.0
"""mstconfig's answers, in the layouts of the releases that jammy, noble and Debian 13 ship."""

import pytest
from hostnic.firmware import mstconfig
from hostnic.firmware.msterrors import MstError
from hostnic.system import CommandError, failure
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost

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
def test_current_and_default_values_are_read_too(text: str) -> None:
    assert mstconfig.parse(text)["NUM_OF_VFS"] == mstconfig.Parameter("0", "8", "16")


def test_text_around_the_table_is_not_a_parameter() -> None:
    assert set(mstconfig.parse(V4_26)) == {"NUM_OF_VFS", "MEMIC_BAR_SIZE", "SRIOV_EN"}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("8", 8),
        ("True(1)", 1),
        ("ETH(2)", 2),
        ("0x10", 16),
        ("08", 8),
        ("N/A", None),
        ("Array[0..7]", None),
        (None, None),
    ],
)
def test_numbers(value: str | None, number: int | None) -> None:
    assert mstconfig.number(value) == number


V4_31 = """
Device #1:
----------

Device type:        ConnectX6DX         
Name:               MCX623106AC-CDA_Ax  
Description:        ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56; PCIe 4.0 x16; Crypto and Secure Boot
Device:             3b:00.0             

Configurations:                                          Default             Current         Next Boot
*       NUM_OF_VFS                                  0                    8                    16                  
        SRIOV_EN                                    False(0)             True(1)              True(1)             
        PCI_ATOMIC_MODE                             PCI_ATOMIC_DISABLED(0) PCI_ATOMIC_DISABLED(0) PCI_ATOMIC_DISABLED(0)
The '*' shows parameters with next value different from default/current value.
"""
LAYOUTS = {
    "4.21": ("{mark:9}{name:44}{default:20}{current:16}{after}", "Default", "Current", "Next Boot"),
    "4.26": ("{mark:5}{flag:7}{name:44}{default:20}{current:21}{after}", "Default", "Current", "Next Boot"),
    "4.31": ("{mark:8}{name:44}{default:21}{current:21}{after:20}", "Default", "Current", "Next Boot"),
}
NAMES = st.from_regex(r"[A-Z][A-Za-z0-9_]{2,38}", fullmatch=True)
VALUES = st.one_of(
    st.integers(0, 1 << 32).map(str),
    st.booleans().map(lambda on: f"{on}({int(on)})"),
    st.builds(
        "{}({})".format, st.from_regex(r"[A-Za-z][A-Za-z0-9_]{1,40}", fullmatch=True), st.integers(0, 9)
    ),
    st.sampled_from(["N/A", "Array[0..7]", "0x0"]),
)
ROWS = st.dictionaries(
    NAMES.filter(lambda name: name != "RO"), st.tuples(VALUES, VALUES, VALUES), max_size=12
)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(rows=ROWS, marked=st.booleans(), read_only=st.booleans())
def test_any_printed_table_is_read_back(layout: str, rows, marked: bool, read_only: bool) -> None:
    form, *columns = LAYOUTS[layout]
    lines = ["Device #1:", "----------", "", "Device type:    ConnectX6DX", ""]
    lines.append("Configurations:".ljust(56) + "    ".join(columns))
    for name, (default, current, after) in rows.items():
        # Wide values push the later columns to the right, and leave one blank at least.
        cells = {
            key: f"{value} " for key, value in (("default", default), ("current", current), ("name", name))
        }
        flag = "RO " if read_only else ""
        lines.append(form.format(mark="*" if marked else " ", flag=flag, after=after, **cells))
    lines.append("The '*' shows parameters with next value different from default/current value.")
    parsed = mstconfig.parse("\n".join(lines))
    fixed = read_only and "{flag" in form
    told = {name: [None if value == "N/A" else value for value in row] for name, row in rows.items()}
    assert parsed == {name: mstconfig.Parameter(*row, fixed) for name, row in told.items()}


def test_the_layout_of_4_31_as_recorded() -> None:
    assert mstconfig.parse(V4_31)["NUM_OF_VFS"] == mstconfig.Parameter("0", "8", "16")
    assert mstconfig.parse(V4_31)["PCI_ATOMIC_MODE"].current == "PCI_ATOMIC_DISABLED(0)"


BDF = "0000:3b:00.0"


@pytest.mark.parametrize("version", ["4.21", "4.26"])
def test_vfs_after_the_next_boot(version: str) -> None:
    host = FakeHost()
    host.mstconfig_version = version
    host.port(BDF).firmware.next_num_of_vfs = 16
    assert mstconfig.offered_vfs(host, BDF).next_boot == 16
    host.port(BDF).firmware.next_sriov_en = False
    assert mstconfig.offered_vfs(host, BDF).next_boot == 0
    assert host.trace == []


def test_numbers_per_pf_void_the_common_one() -> None:
    host = FakeHost()
    firmware = host.port(BDF).firmware
    firmware.per_pf = firmware.next_per_pf = True
    firmware.pf_num_of_vf, firmware.next_pf_num_of_vf = 4, 6
    assert mstconfig.offered_vfs(host, BDF) == (4, 6)
    firmware.next_per_pf = False
    assert mstconfig.offered_vfs(host, BDF) == (None, 8), "PF_NUM_OF_VF is hidden then"
    host.cards[0].lacks.add("PF_NUM_OF_VF_VALID")
    assert mstconfig.offered_vfs(host, BDF) == (8, 8)
    assert host.trace == []


ARGV = ("mstconfig", "-d", BDF, "-e", "query", "NUM_OF_VFS", "SRIOV_EN", "PF_NUM_OF_VF_VALID")


def test_an_answer_without_a_table_is_a_failure_and_not_firmware_without_parameters() -> None:
    host = FakeHost()
    host.answers[ARGV] = "Device #1:\n----------\n"
    with pytest.raises(MstError, match="printed no parameters, and no error") as failed:
        mstconfig.offered_vfs(host, BDF)
    assert failed.value.remedy == f"for all that it says, run on the host: {' '.join(ARGV)}"


def test_a_partial_answer_counts() -> None:
    host = FakeHost()
    host.answers[ARGV] = failure(ARGV, 3, V4_21 + "-E- Failed to query some of the TLVs:\nX\n", "")
    assert mstconfig.offered_vfs(host, BDF).next_boot == 16


def test_firmware_too_old_for_current_values_is_asked_for_the_next_ones() -> None:
    host = FakeHost()
    host.answers[ARGV] = failure(ARGV, 3, f"-E- Device Firmware {mstconfig.NO_CURRENT}\n", "")
    host.answers[(*ARGV[:3], *ARGV[4:])] = NO_CURRENT
    assert mstconfig.offered_vfs(host, BDF).next_boot == 16


def test_a_parameter_that_the_firmware_lacks_is_unknown() -> None:
    host = FakeHost()
    host.answers[ARGV] = failure(ARGV, 3, "-E- The Device doesn't support NUM_OF_VFS parameter\n", "")
    assert mstconfig.offered_vfs(host, BDF).next_boot is None


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
        mstconfig.offered_vfs(host, BDF)
    assert str(raised.value) == says


@pytest.mark.parametrize("version", ["4.21", "4.26", "4.34", "4.36"])
def test_names_that_the_firmware_lacks_are_left_out_of_the_query(version: str) -> None:
    host = FakeHost()
    host.mstconfig_version = version
    host.cards[0].lacks.add("LACKING")
    found = mstconfig.query(host, BDF, "LACKING", "NUM_OF_VFS", "NONSUCH", "MAX_ACC_OUT_READ")
    assert list(found) == ["NUM_OF_VFS"]
    assert mstconfig.query(host, BDF, "NONSUCH") == {}


def test_all_parameters() -> None:
    found = mstconfig.query(FakeHost(), BDF)
    assert {"NUM_OF_VFS", "SRIOV_EN", "LINK_TYPE_P2"} < set(found)


def test_set_reads_back_and_reset_restores_the_default() -> None:
    host = FakeHost()
    assert mstconfig.set_next_boot(host, BDF, {"NUM_VF_MSIX": "63", "LINK_TYPE_P1": "IB"}) is False
    assert mstconfig.query(host, BDF, "LINK_TYPE_P1")["LINK_TYPE_P1"].next_boot == "IB(1)"
    assert host.trace == [f"run mstconfig -d {BDF} -y set NUM_VF_MSIX=63 LINK_TYPE_P1=IB"]
    mstconfig.reset(host, BDF)
    assert mstconfig.query(host, BDF, "NUM_VF_MSIX")["NUM_VF_MSIX"].next_boot == "11"


def test_the_message_about_a_power_cycle_is_recognized() -> None:
    host = FakeHost()
    host.cards[0].stuck = True
    assert mstconfig.set_next_boot(host, BDF, {"NUM_VF_MSIX": "63"}) is True


@pytest.mark.parametrize(
    ("printed", "cold"),
    [
        ("mstconfig, mstflint 4.21.0, Git SHA Hash: N/A\n", True),
        ("mstconfig, mstflint 4.32.0-1, Git SHA Hash: 8f3a\n", True),
        ("mstconfig, mstflint 4.33.0-1, Git SHA Hash: N/A\n", False),
        ("mstconfig, mstflint 5.0.0, Git SHA Hash: N/A\n", False),
        ("mstconfig 4.21\n", False),
        (failure(["mstconfig"], 3, "-E- Unknown argument\n", ""), False),
    ],
)
def test_from_4_33_on_it_is_no_fact_about_the_firmware(printed: str | CommandError, cold: bool) -> None:
    host = FakeHost()
    host.cards[0].stuck = True
    host.answers[("mstconfig", "--version")] = printed
    assert mstconfig.set_next_boot(host, BDF, {"NUM_VF_MSIX": "63"}) is cold


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"NUM_OF_VFS": "1000"}, "Parameter NUM_OF_VFS' value is larger than maximum allowed 127"),
        ({"LINK_TYPE_P1": "fast"}, "Unknown value fast"),
        ({"NONSUCH": "1"}, "Unknown Parameter: NONSUCH"),
        ({"MAX_ACC_OUT_READ": "44"}, "The Device doesn't support MAX_ACC_OUT_READ parameter"),
        ({"NUM_OF_VFS": "100", "NUM_VF_MSIX": "63"}, "Illegal constraint"),
    ],
)
def test_a_refusal_is_one_sentence_with_a_remedy(settings: dict[str, str], says: str) -> None:
    with pytest.raises(MstError) as refused:
        mstconfig.set_next_boot(FakeHost(), BDF, settings)
    assert says in refused.value.reason
    assert "\n" not in refused.value.reason
    assert refused.value.remedy


@pytest.mark.parametrize(
    "said",
    [
        "Failed to find Param / TLV with name 'NONSUCH' port 0 module -1",
        "TLV with name 'nv_roce_cc_ecn', port 0, module -1 does not exist",
    ],
)
def test_what_newer_releases_say_of_names_has_a_remedy(said: str) -> None:
    host = FakeHost()
    argv = ("mstconfig", "-d", BDF, "-y", "set", "CNP_DSCP=48")
    host.answers[argv] = failure(argv, 3, f"-E- {said}\n", "")
    with pytest.raises(MstError) as refused:
        mstconfig.set_next_boot(host, BDF, {"CNP_DSCP": "48"})
    assert refused.value.reason.startswith(f"mstconfig: {said[:40]}")
    assert "action query" in refused.value.remedy


def test_a_backup_is_read_back() -> None:
    text = mstconfig.backup(mstconfig.parse(V4_21))
    assert text == "NUM_OF_VFS=16\nSRIOV_EN=1\n"
    assert mstconfig.parse_backup(f"# of a day\n\n{text}") == {"NUM_OF_VFS": "16", "SRIOV_EN": "1"}
