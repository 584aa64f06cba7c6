# SPDX-License-Identifier: Apache-2.0
"""Which card is in a slot, by its serial number."""

import errno

import pytest
from hostnic.firmware import vpd
from lab.modelled import FakeHost, card
from lab.modelled.nic.pcispace import FakeBridge, FakeGpu


def test_the_ports_and_vfs_of_a_card_are_one_card() -> None:
    host = FakeHost([card("3b"), card("5e")])
    host.files.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "8")
    host.sleep(10)
    found = vpd.cards(host)
    assert sorted(found) == ["0000:3b:00", "0000:5e:00"]
    assert len(set(found.values())) == 2
    assert found["0000:3b:00"] == vpd.card_at(host, "0000:3b:00")


def test_a_card_keeps_its_name_when_its_first_function_is_gone() -> None:
    host = FakeHost([card("3b")])
    before = vpd.card_at(host, "0000:3b:00")
    host.cards[0].ports[0].gone = True
    assert vpd.card_at(host, "0000:3b:00") == before != ""


@pytest.mark.parametrize("error", [errno.ETIMEDOUT, errno.EIO, errno.EACCES])
def test_a_card_that_does_not_tell_has_none(error: int) -> None:
    host = FakeHost([card("3b"), card("5e")])
    host.fail("read", "3b:00", OSError(error, "no"), times=None)
    assert vpd.card_at(host, "0000:3b:00") == ""
    assert sorted(vpd.cards(host)) == ["0000:5e:00"]


def test_the_data_of_other_devices_is_not_read() -> None:
    host = FakeHost([card("3b")])
    host.bridges["0000:3a:00.0"] = FakeBridge()
    host.gpus["0000:17:00.0"] = FakeGpu()
    vpd.cards(host)
    assert not [line for line in host.asked if "vpd" in line and "3b:00" not in line]


@pytest.mark.parametrize(
    ("data", "serial"),
    [
        (b"\x82\x03\x00CX6\x90\x09\x00SN\x06MT2116\x78", "MT2116"),
        (b"\x90\x12\x00PN\x03CX6SN\x06MT2116VA\x00\x78", "MT2116"),
        (b"\x90\x09\x00SN\x06MT21  \x78", "MT21"),
        (b"\x82\x03\x00CX6\x78", ""),
        (b"\x90\xff\xffSN", ""),
        (b"", ""),
    ],
)
def test_a_serial_number_is_read_out_of_the_data(data: bytes, serial: str) -> None:
    assert vpd.serial_in(data) == serial
