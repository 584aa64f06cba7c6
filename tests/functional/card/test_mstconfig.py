# SPDX-License-Identifier: Apache-2.0
"""The card's firmware as the distribution's own mstconfig queries, sets and resets it."""

import re

import pytest

PF, OTHER_PF = "3b:00.0", "3b:00.1"
TOTAL_VFS = "/sys/bus/pci/devices/0000:3b:00.{}/sriov_totalvfs"

FACTORY = {
    "SRIOV_EN": "True(1)",
    "NUM_OF_VFS": "8",
    "NUM_PF_MSIX": "63",
    "NUM_VF_MSIX": "11",
    "ADVANCED_PCI_SETTINGS": "False(0)",
    "ATS_ENABLED": "False(0)",
    "PF_NUM_OF_VF_VALID": "False(0)",
    "LAG_RESOURCE_ALLOCATION": "DEVICE_DEFAULT(0)",
    "PCI_WR_ORDERING": "per_mkey(0)",
    "CQE_COMPRESSION": "BALANCED(0)",
    "RDMA_SELECTIVE_REPEAT_EN": "False(0)",
}
FACTORY_OF_PORT = {
    "LINK_TYPE": "ETH(2)",
    "ROCE_CC_PRIO_MASK": "255",
    "CNP_DSCP": "48",
    "CNP_802P_PRIO": "6",
    "KEEP_ETH_LINK_UP": "True(1)",
    "LLDP_NB_DCBX": "False(0)",
    "DCBX_WILLING": "True(1)",
}


def mstconfig(card, *arguments, device=PF):
    """Run mstconfig and return its standard output, which has all that it says, and its exit status."""
    done = card.run(["mstconfig", "-d", device, "-y", *arguments], check=False, timeout=120)
    return done.returncode, done.stdout


def query(card, *names, device=PF):
    """{name: (default, current, next)}"""
    status, text = mstconfig(card, "-e", "query", *names, device=device)
    assert status == 0, text
    rows = (line.replace("*", " ").split() for line in text.partition("Configurations:")[2].splitlines())
    return {
        row[0]: tuple(row[-3:])
        for row in rows
        if len(row) >= 4 and re.fullmatch("[A-Z][A-Za-z0-9]*_[A-Za-z0-9_]+", row[0])
    }


def next_boot(card, *names, device=PF):
    values = query(card, *names, device=device)
    return [values[name][2] for name in names]


def set_(card, *settings, device=PF):
    status, text = mstconfig(card, "set", *settings, device=device)
    assert status == 0, text
    assert "Applying... Done!" in text
    return text


def total_vfs(card):
    return [card.run(f"cat {TOTAL_VFS.format(pf)} 2>/dev/null || echo none").stdout.strip() for pf in (0, 1)]


def after_another_boot(card, *parameters, cold=False):
    """Loads the module as a later boot does: the store's first record says which boot wrote it."""
    card.run("printf X | dd of=/var/lib/lab/firmware bs=1 seek=8 conv=notrunc")
    card.reload(f"power_cycle={'NY'[cold]}", *parameters)


def test_a_new_card_has_the_factory_values_everywhere(card):
    values = query(card)
    of_ports = {f"{name}_P{port}": value for name, value in FACTORY_OF_PORT.items() for port in (1, 2)}
    for name, value in (FACTORY | of_ports).items():
        assert (name, values.get(name)) == (name, (value, value, value))
    assert "MAX_ACC_OUT_READ" not in values
    assert "INTERNAL_CPU_OFFLOAD_ENGINE" not in values


@pytest.mark.thorough
def test_the_header_names_the_card(card):
    _, text = mstconfig(card, "query", "SRIOV_EN")
    for name, value in {
        "Device type": "ConnectX6DX",
        "Name": "MCX623106AC-CDA_Ax",
        "Description": "ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56; PCIe 4.0 x16; "
        "Crypto and Secure Boot",
        "Device": "3b:00.0",
    }.items():
        assert re.search(rf"^{name}: +{re.escape(value)} *$", text, re.MULTILINE), text


def reboot(card):
    card.machine.reboot()


@pytest.mark.parametrize("boot", [after_another_boot, pytest.param(reboot, marks=pytest.mark.thorough)])
def test_what_is_set_waits_for_the_next_boot_and_survives_it(card, boot):
    text = set_(card, "NUM_OF_VFS=16", "NUM_VF_MSIX=63", "CNP_DSCP_P2=26")
    assert "-I- Please reboot machine to load new configurations." in text
    names = ("NUM_OF_VFS", "NUM_VF_MSIX", "CNP_DSCP_P1", "CNP_DSCP_P2")
    waiting = {
        "NUM_OF_VFS": ("8", "8", "16"),
        "NUM_VF_MSIX": ("11", "11", "63"),
        "CNP_DSCP_P1": ("48", "48", "48"),
        "CNP_DSCP_P2": ("48", "48", "26"),
    }
    assert query(card, *names) == waiting
    card.reload()
    assert query(card, *names, device=OTHER_PF) == waiting
    assert total_vfs(card) == ["8", "8"]

    boot(card)
    assert query(card, *names) == {name: (default, new, new) for name, (default, _, new) in waiting.items()}
    assert total_vfs(card) == ["16", "16"]


@pytest.mark.thorough
def test_sriov_off_leaves_no_vfs_to_ask_for(card):
    set_(card, "SRIOV_EN=0")
    after_another_boot(card)
    assert query(card, "SRIOV_EN")["SRIOV_EN"] == ("True(1)", "False(0)", "False(0)")
    assert set(total_vfs(card)) <= {"0", "none"}


def test_a_number_of_vfs_for_each_pf_makes_the_common_one_void(card):
    status, text = mstconfig(card, "set", "PF_NUM_OF_VF=4")
    assert (status, "The Device doesn't support PF_NUM_OF_VF parameter" in text) == (3, True), text
    set_(card, "NUM_OF_VFS=16", "PF_NUM_OF_VF_VALID=1")
    set_(card, "PF_NUM_OF_VF=4")
    set_(card, "PF_NUM_OF_VF=2", device=OTHER_PF)
    after_another_boot(card)
    assert total_vfs(card) == ["4", "2"]
    card.vfs(2)
    addresses = card.run("lspci -d 15b3:101e | cut -d' ' -f1").stdout.split()
    assert addresses == ["3b:00.2", "3b:00.3", "3b:00.6", "3b:00.7"]
    card.vfs(0)
    set_(card, "PF_NUM_OF_VF_VALID=0")
    after_another_boot(card)
    assert total_vfs(card) == ["16", "16"]


@pytest.mark.thorough
def test_a_setting_of_one_pf_is_not_the_other_pfs(card):
    set_(card, "PCI_WR_ORDERING=1", device=OTHER_PF)
    assert next_boot(card, "PCI_WR_ORDERING", device=OTHER_PF) == ["force_relax(1)"]
    assert next_boot(card, "PCI_WR_ORDERING") == ["per_mkey(0)"]


def test_max_acc_out_read_is_hidden_until_advanced_pci_settings_is_next(card):
    for settings in (["MAX_ACC_OUT_READ=44"], ["ADVANCED_PCI_SETTINGS=1", "MAX_ACC_OUT_READ=44"]):
        status, text = mstconfig(card, "set", *settings)
        assert status == 3
        assert "The Device doesn't support MAX_ACC_OUT_READ parameter" in text
    set_(card, "ADVANCED_PCI_SETTINGS=1")
    set_(card, "MAX_ACC_OUT_READ=44", device=OTHER_PF)
    assert query(card, "MAX_ACC_OUT_READ") == {"MAX_ACC_OUT_READ": ("0", "0", "44")}


def test_refused_and_nothing_changed(card):
    for settings, words in [
        (["NUM_OF_VFS=65", "NUM_VF_MSIX=63"], "Illegal constraint"),  # more MSI-X than there are
        (["NUM_OF_VFS=128"], "larger than maximum allowed"),
        (["LINK_TYPE_P1=fast"], "Unknown value"),
        (["NO_SUCH_PARAMETER=1"], "Unknown Parameter: NO_SUCH_PARAMETER"),
    ]:
        status, text = mstconfig(card, "set", *settings)
        assert (status, words in text) == (3, True), text
    assert next_boot(card, "NUM_OF_VFS", "NUM_VF_MSIX") == ["8", "11"]


@pytest.mark.thorough
def test_as_many_vfs_as_the_msix_budget_allows(card):
    set_(card, "NUM_OF_VFS=64", "NUM_VF_MSIX=63")
    assert next_boot(card, "NUM_OF_VFS", "NUM_VF_MSIX") == ["64", "63"]


@pytest.mark.thorough
def test_reset_puts_every_parameter_back_to_its_default(card):
    set_(card, "NUM_OF_VFS=4", "CNP_DSCP_P1=26", "ATS_ENABLED=1")
    after_another_boot(card)
    status, text = mstconfig(card, "reset")
    assert (status, "Applying... Done!" in text) == (0, True)
    assert query(card, "NUM_OF_VFS", "CNP_DSCP_P1", "ATS_ENABLED") == {
        "NUM_OF_VFS": ("8", "4", "8"),
        "CNP_DSCP_P1": ("48", "26", "48"),
        "ATS_ENABLED": ("False(0)", "True(1)", "False(0)"),
    }


@pytest.mark.thorough
def test_what_was_set_is_backed_up_and_restored(card):
    backup = ["-f", "/root/backup.raw"]
    status, text = mstconfig(card, *backup, "backup")
    assert (status, "nothing to backup" in text) == (3, True), text
    set_(card, "NUM_OF_VFS=16", "CNP_DSCP_P2=26", "PCI_WR_ORDERING=1")
    status, text = mstconfig(card, *backup, "backup")
    assert status == 0, text
    assert card.run("head -n1 /root/backup.raw").stdout == "MLNX_RAW_TLV_FILE\n"
    mstconfig(card, "reset")
    names = ("NUM_OF_VFS", "CNP_DSCP_P2", "PCI_WR_ORDERING")
    assert next_boot(card, *names) == ["8", "48", "per_mkey(0)"]
    status, text = mstconfig(card, *backup, "set_raw")
    assert status == 0, text
    assert next_boot(card, *names) == ["16", "26", "force_relax(1)"]


def test_a_card_that_only_a_power_cycle_restarts_says_so_and_means_it(card):
    card.parameter("warm_reboot_applies", "N")
    text = set_(card, "NUM_OF_VFS=16")
    assert "Please power cycle machine to load new configurations." in text
    after_another_boot(card, "warm_reboot_applies=N")
    assert query(card, "NUM_OF_VFS")["NUM_OF_VFS"] == ("8", "8", "16")
    after_another_boot(card, "warm_reboot_applies=N", cold=True)
    assert query(card, "NUM_OF_VFS")["NUM_OF_VFS"] == ("8", "16", "16")


@pytest.mark.thorough
def test_a_bluefield_in_dpu_mode_keeps_its_firmware_over_a_warm_reboot(card):
    card.reload("cards=3b:bf2:2")
    engine = "INTERNAL_CPU_OFFLOAD_ENGINE"
    assert "BlueField2" in mstconfig(card, "query", engine)[1]
    assert "Please power cycle machine" in set_(card, f"{engine}=DISABLED")
    after_another_boot(card, "cards=3b:bf2:2")
    assert query(card, engine) == {engine: ("ENABLED(0)", "ENABLED(0)", "DISABLED(1)")}
    after_another_boot(card, "cards=3b:bf2:2", cold=True)
    assert query(card, engine) == {engine: ("ENABLED(0)", "DISABLED(1)", "DISABLED(1)")}


@pytest.mark.thorough
def test_a_connectx_5_knows_no_lag_resource_allocation(card):
    card.reload("cards=3b:cx5:2")
    status, text = mstconfig(card, "set", "LAG_RESOURCE_ALLOCATION=1")
    assert status == 3
    assert "The Device doesn't support LAG_RESOURCE_ALLOCATION parameter" in text


@pytest.mark.thorough
def test_each_card_has_a_store_of_its_own(card):
    card.reload("cards=3b:cx6dx:2,5e:cx6lx:1")
    set_(card, "NUM_OF_VFS=16", device="5e:00.0")
    assert "ConnectX6LX" in mstconfig(card, "query", "NUM_OF_VFS", device="5e:00.0")[1]
    assert next_boot(card, "NUM_OF_VFS") == ["8"]
    assert next_boot(card, "NUM_OF_VFS", device="5e:00.0") == ["16"]
    assert "LINK_TYPE_P2" in mstconfig(card, "query", "LINK_TYPE_P2")[1]
    assert mstconfig(card, "query", "LINK_TYPE_P2", device="5e:00.0")[0] == 3


@pytest.mark.thorough
def test_under_lockdown_the_device_does_not_open(card):
    card.write("/sys/kernel/security/lockdown", "integrity")
    done = card.run(["mstconfig", "-d", PF, "query"], check=False)
    assert done.returncode == 3
    assert "write counter to semaphore: Operation not permitted" in done.stdout + done.stderr
    assert "Failed to open the device" in done.stdout + done.stderr


@pytest.mark.thorough
def test_a_store_that_cannot_be_written_fails_the_command(card):
    card.reload("fwstore=/nowhere/firmware")
    status, text = mstconfig(card, "set", "NUM_OF_VFS=16")
    assert status == 3
    assert "Failed to set nv_global_pci_conf settings" in text
