# SPDX-License-Identifier: Apache-2.0
"""A recording tells no serial number, MAC address, GUID, host name or address."""

import pytest
from lab.calibrate.anonymous import Anonymiser

NAMES = {
    "0000:3b:00.1": "PF1",
    "3b:00.1": "PF1",
    "0000:3b:01.2": "PF1VF0",
    "enp59s0f1np1": "NET1",
    "enp59s0f1": "OTHER",
}
ANONYMOUS = Anonymiser(NAMES, ["compute-7", "compute-7.example.com"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mlx5_core 0000:3b:00.1 enp59s0f1np1: Link up", "mlx5_core PF1 NET1: Link up"),
        ("Device:  3b:00.1", "Device:  PF1"),
        ("pci/0000:3b:00.1: mode legacy", "pci/PF1: mode legacy"),
        ("0000:3b:00.10 and 0000:3b:01.2", "0000:3b:00.10 and PF1VF0"),
        ("enp59s0f1np10 enp59s0f1", "enp59s0f1np10 OTHER"),
        ("host compute-7 is compute-7.example.com.", "host HOST is HOST."),
        ("link/ether 0c:42:a1:00:3b:01 brd ff:ff:ff:ff:ff:ff", "link/ether MAC brd MAC"),
        ("GID 80:00:02:08:fe:80:00:00:00:00:00:00:0c:42:a1:00:03:00:3b:01 end", "GID MAC end"),
        ("Base GUID: 0c42a10300003b01, 0c42:a103:0000:3b01", "Base GUID: GUID, GUID"),
        ("switchid 0c42a1fffe003b00", "switchid GUID"),
        ("serial_number MT2116X01234", "serial_number SERIAL"),
        ("board.serial_number: 98039B", "board.serial_number: SERIAL"),
        ("Serial Number:   MT1911K0", "Serial Number:   SERIAL"),
        ("a label MT2116X01234", "a label SERIAL"),
        (
            "mlx5_cmd_out_err:185:(pid 934): CREATE_LAG(0x840)",
            "mlx5_cmd_out_err:185:(pid N): CREATE_LAG(0x840)",
        ),
        ("id 1b4e28ba-2fa1-11d2-883f-b9a761bde3fb", "id UUID"),
        ("from 10.0.14.7 to fe80::e42:a1ff:fe00:3b00", "from ADDRESS to ADDRESS"),
    ],
)
def test_what_tells_one_machine_from_another_is_replaced(text, shown):
    assert ANONYMOUS.text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "fw.psid MT_0000000359",
        "fw.version 22.35.2000",
        "syndrome (0x98afbb), err(-22)",
        "CREATE_FLOW_TABLE(0x930) op_mod(0x0) failed, status bad resource state(0x9)",
        "dst_ip 192.0.2.1",
        "prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7",
        "tc-bw 0:50 1:0 2:0 3:50 4:0 5:0 6:0 7:0",
    ],
)
def test_what_belongs_to_every_card_of_a_kind_stays(text):
    assert ANONYMOUS.text(text) == text


def test_lines_have_no_trailing_spaces_and_none_is_empty():
    assert ANONYMOUS.lines("one  \n\n enp59s0f1np1 \n") == ["one", " NET1"]


def test_without_names_the_patterns_still_hold():
    assert Anonymiser({}).text("0c:42:a1:00:3b:01 enp59s0f1np1") == "MAC enp59s0f1np1"
