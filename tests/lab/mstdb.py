# SPDX-License-Identifier: Apache-2.0
"""A small parameter database with the tables of mstflint's ``mlxconfig_host.db``, for tests."""

import sqlite3
from pathlib import Path

TLVS = [("pci", 0), ("pci_host", 7), ("link", 1), ("cc", 1), ("hca", 3), ("rom", 3), ("chain", 0)]
PARAMS = [
    ("SRIOV_EN", "pci", "BOOL", None, "0x0.1", "", 0),
    ("NUM_OF_VFS", "pci", "UNSIGNED", None, "0x0.16", "", 0),
    ("PF_NUM_OF_VF_VALID", "pci", "BOOL", None, "0x0.1", "", 0),
    (
        "PF_NUM_OF_VF",
        "hca",
        "UNSIGNED",
        None,
        "0x0.16",
        "($nv_global_pci_cap.per_pf_total_vf_supported == 1 && $nv_global_pci_conf.per_pf_total_vf == 1)",
        0,
    ),
    ("NUM_PF_MSIX", "pci", "UNSIGNED", None, "0x0.10", "", 0),
    ("NUM_VF_MSIX", "pci", "UNSIGNED", None, "0x0.10", "", 0),
    ("ADVANCED_PCI_SETTINGS", "pci_host", "BOOL", None, "0x0.1", "", 0),
    ("ATS_ENABLED", "pci_host", "BOOL", None, "0x0.1", "", 0),
    ("EXP_ROM_UEFI_x86_ENABLE", "pci_host", "BOOL", None, "0x0.1", "", 0),
    ("EXP_ROM_UEFI_ARM_ENABLE", "pci_host", "BOOL", None, "0x0.1", "", 0),
    ("EXP_ROM_PXE_ENABLE", "pci_host", "BOOL", None, "0x0.1", "", 0),
    (
        "LEGACY_BOOT_PROTOCOL",
        "rom",
        "ENUM",
        "NONE=0x0,PXE=0x1,ISCSI=0x2,PXE_WO_FAIL_ISCSI=0x4,ISCSI_WO_FAIL_PXE=0x5",
        "0x0.8",
        "ignore_dependency",
        0,
    ),
    ("UEFI_HII_EN", "rom", "BOOL", None, "0x0.1", "$nv_rom_cap.hii_config_en!=0", 0),
    (
        "MAX_ACC_OUT_READ",
        "pci",
        "UNSIGNED",
        None,
        "0x0.16",
        "($nv_pci_conf.advanced_pci_settings!=0) && 1",
        0,
    ),
    (
        "LAG_RESOURCE_ALLOCATION",
        "pci",
        "ENUM",
        "DEVICE_DEFAULT=0x0,PRE_ALLOCATION=0x1,PRE_ALLOCATION_QA=0x2",
        "0x0.2",
        "",
        0,
    ),
    ("LINK_TYPE", "link", "ENUM", "IB=0x1,ETH=0x2", "0x0.2", "ignore_dependency", 0),
    ("ROCE_CC_PRIO_MASK", "cc", "UNSIGNED", None, "0x0.8", "", 0),
    ("CNP_DSCP", "cc", "UNSIGNED", None, "0x0.6", "", 0),
    ("LLDP_NB_DCBX", "cc", "BOOL", None, "0x0.1", "", 0),
    ("PCI_WR_ORDERING", "hca", "ENUM", "per_mkey=0x0,force_relax=0x1", "0x0.2", "", 0),
    ("HOST_CHAINING_DESCRIPTORS", "chain", "UNSIGNED", None, "0x8.0", "", 8),
    ("MODULE_SPLIT", "chain", "BINARY", None, "0x10.0", "", 0),
]


def build(path: Path) -> Path:
    """Write the database at ``path``; the same path back."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE tlvs(name TEXT PRIMARY KEY, class INT)")
        connection.execute(
            "CREATE TABLE params(name TEXT, tlv_name TEXT, type TEXT, textual_values TEXT, size TEXT,"
            " dependency TEXT, array_length INT, mlxconfig_name TEXT)"
        )
        connection.executemany("INSERT INTO tlvs VALUES (?, ?)", TLVS)
        rows = [
            (name.lower(), tlv, kind, words, size, rule, length, name)
            for name, tlv, kind, words, size, rule, length in PARAMS
        ]
        connection.executemany("INSERT INTO params VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute(
            "INSERT INTO params VALUES ('reserved', 'pci', 'BOOL', NULL, '0x0.1', '', 0, NULL)"
        )
    connection.close()
    return path
