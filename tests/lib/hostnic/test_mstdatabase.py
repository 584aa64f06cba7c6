# SPDX-License-Identifier: Apache-2.0
"""mstflint's parameter database: names, types, allowed values, near matches."""

import sqlite3
from pathlib import Path

import pytest
from hostnic.firmware import mstdatabase
from hostnic.firmware.mstdatabase import Database, Meaning, ValueRefused, plain
from hypothesis import given
from hypothesis import strategies as st
from lab.mstdb import PARAMS, build

REAL = Path(mstdatabase.PATH)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return mstdatabase.read(str(build(tmp_path_factory.mktemp("mst") / "host.db")))


def test_every_named_parameter_is_known(database: Database) -> None:
    assert set(database.entries) == {row[0] for row in PARAMS}


@pytest.mark.parametrize(
    ("name", "known"),
    [("NUM_OF_VFS", True), ("CNP_DSCP_P1", True), ("CNP_DSCP", False), ("NUM_OF_VFS_P1", False)],
)
def test_a_name_has_a_ports_suffix_only_if_each_port_has_its_own_value(
    database: Database, name: str, known: bool
) -> None:
    assert (database.get(name) is not None) is known


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("SRIOV_EN", "true", 1), ("SRIOV_EN", "False", 0), ("SRIOV_EN", "1", 1), ("NUM_VF_MSIX", "0x3f", 63),
        ("LINK_TYPE_P1", "eth", 2), ("LINK_TYPE_P2", "1", 1), ("PCI_WR_ORDERING", "force_relax", 1),
        ("ROCE_CC_PRIO_MASK_P1", "255", 255),
    ],
)  # fmt: skip
def test_values_as_people_write_them(database: Database, name: str, text: str, number: int) -> None:
    entry = database.get(name)
    assert entry is not None
    assert entry.number(text) == number


@pytest.mark.parametrize(
    ("name", "text", "takes"),
    [
        ("SRIOV_EN", "on", "true or false"), ("NUM_VF_MSIX", "1024", "a whole number from 0 to 1023"),
        ("NUM_VF_MSIX", "", "a whole number"), ("LINK_TYPE_P1", "FC", "IB (1), ETH (2)"),
        ("LINK_TYPE_P1", "0", "IB (1), ETH (2)"), ("MODULE_SPLIT", "1", "nothing that this charm can set"),
        ("HOST_CHAINING_DESCRIPTORS", "1", "a whole number"),
    ],
)  # fmt: skip
def test_a_refused_value_is_one_sentence(database: Database, name: str, text: str, takes: str) -> None:
    entry = database.get(name)
    assert entry is not None
    with pytest.raises(ValueRefused) as refused:
        entry.number(text)
    assert takes in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_parameter_that_another_one_hides_names_its_gate(database: Database) -> None:
    gated = {name: entry.gate for name, entry in database.entries.items() if entry.gate}
    assert gated == {"MAX_ACC_OUT_READ": "ADVANCED_PCI_SETTINGS", "PF_NUM_OF_VF": "PF_NUM_OF_VF_VALID"}
    assert database.entries["MAX_ACC_OUT_READ"].gate == "ADVANCED_PCI_SETTINGS"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NUM_OF_VF", "NUM_OF_VFS"),
        ("CNP_DSCP", "CNP_DSCP_P1"),
        ("SRIOVEN", "SRIOV_EN"),
        ("Sriov_En", "SRIOV_EN"),
    ],
)
def test_near_names(database: Database, name: str, near: str) -> None:
    assert near in database.near(name)


@pytest.mark.parametrize(
    ("name", "text", "meaning"),
    [
        ("LINK_TYPE_P1", "eth", Meaning(2)),
        ("MAX_ACC_OUT_READ", "44", Meaning(44, "ADVANCED_PCI_SETTINGS")),
        ("ROCE_IS_NEW", "True", Meaning(1, near=())),
        ("ROCE_IS_NEW", "0x10", Meaning(16, near=())),
        ("NUM_OF_VF", "some", Meaning("some", near=("NUM_OF_VFS", "PF_NUM_OF_VF", "PF_NUM_OF_VF_VALID"))),
    ],
)
def test_a_text_means_a_value_also_of_a_parameter_that_the_database_lacks(
    database: Database, name: str, text: str, meaning: Meaning
) -> None:
    assert database.meaning(name, text) == meaning


def test_without_a_database_no_name_is_unknown_and_gates_are_known_all_the_same() -> None:
    assert Database().meaning("MAX_ACC_OUT_READ", "44") == Meaning(44, "ADVANCED_PCI_SETTINGS")
    assert Database().meaning("PF_NUM_OF_VF", "8") == Meaning(8, "PF_NUM_OF_VF_VALID")
    assert Database().meaning("NO_SUCH_NAME", "FC") == Meaning("FC")


@pytest.mark.parametrize(
    ("name", "with_it", "without"),
    [
        ("NUM_OF_VFS", True, True), ("PF_NUM_OF_VF_VALID", True, True), ("LINK_TYPE_P2", True, False),
        ("PF_NUM_OF_VF", False, False), ("NO_SUCH_NAME", False, False),
    ],
)  # fmt: skip
def test_ports_share_what_the_database_says_and_the_numbers_of_vfs_without_it(
    database: Database, name: str, with_it: bool, without: bool
) -> None:
    assert (database.shared(name), Database().shared(name)) == (with_it, without)


@pytest.mark.parametrize("content", [None, b"", b"not a database", b"SQLite format 3\0" + b"x" * 100])
def test_a_database_that_cannot_be_read_is_an_empty_one(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "host.db"
    if content is not None:
        path.write_bytes(content)
    assert mstdatabase.read(str(path)) == Database()


@pytest.mark.parametrize("value", [None, 7, b"\xff", "0x0." + "9" * 5000, "0x0.99999999999", "0xffff.0"])
@pytest.mark.parametrize(
    "column", ["type", "textual_values", "size", "dependency", "array_length", "mlxconfig_name", "class"]
)
def test_another_release_may_leave_a_column_out_or_give_it_another_type(
    tmp_path: Path, column: str, value: object
) -> None:
    path = build(tmp_path / "host.db")
    with sqlite3.connect(path) as connection:
        table = "tlvs" if column == "class" else "params"
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))  # noqa: S608
    connection.close()
    for entry in mstdatabase.read(str(path)).entries.values():
        assert isinstance(entry.takes, str)
        assert len(entry.takes) < 400


@given(st.text())
def test_any_text_is_a_number_or_none(text: str) -> None:
    value = plain(text)
    assert value is None or value >= 0


@pytest.mark.skipif(
    not REAL.exists(), reason="mstflint is not installed here; the functional tests read its database"
)
def test_mstflints_own_database_has_what_the_profiles_use() -> None:
    database = mstdatabase.read()
    names = [
        "SRIOV_EN", "NUM_OF_VFS", "NUM_VF_MSIX", "LINK_TYPE_P1", "ADVANCED_PCI_SETTINGS", "MAX_ACC_OUT_READ",
        "ATS_ENABLED", "CNP_DSCP_P2", "LLDP_NB_DCBX_P1",
    ]  # fmt: skip
    assert [name for name in names if database.get(name) is None] == []
    assert database.entries["MAX_ACC_OUT_READ"].gate == "ADVANCED_PCI_SETTINGS"
    assert database.entries["NUM_OF_VFS"].per_nic
    assert not database.entries["ATS_ENABLED"].per_nic
