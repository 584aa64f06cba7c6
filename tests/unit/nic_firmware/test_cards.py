# SPDX-License-Identifier: Apache-2.0
"""Notes on waiting and failed work belong to the card, by its serial number, not to the slot."""

import json
from collections.abc import Mapping

import pytest
import record
from hostnic.firmware import vpd
from lab.modelled import FakeHost
from record import Attempts, Record, Waiting
from unit.nic_firmware.node import PF0, Node, machine, nics

SET = {"NUM_OF_VFS": Waiting("16", "boot 1")}
NEWER = "22.41.1000"
TRIED = {"0123": Attempts(NEWER, 2, "flash is broken")}


def noted(slot: str) -> Record:
    """Return a record with all kinds of notes on a card."""
    port = f"{slot}.0"
    often = {"NUM_OF_VFS=16": Attempts("", 2)}
    return Record({port: SET}, {slot: NEWER}, {f"{slot}.1": "boot 1"}, {slot: TRIED, port: often})


def put(host: FakeHost, **places: str) -> None:
    """Give the cards on some buses other ones, ``bus_3b="3c"``."""
    buses = {name.removeprefix("bus_"): place for name, place in places.items()}
    for nic in host.cards:
        bus = buses.get(nic.slot[5:7], nic.slot[5:7])
        nic.slot = f"0000:{bus}:00"
        for port in nic.ports:
            port.bdf = f"{nic.slot}.{port.number}"


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ({}, "0000:3b:00"),
        ({"bus_3b": "3c"}, "0000:3c:00"),
        ({"bus_3b": "5e", "bus_5e": "3b"}, "0000:5e:00"),
        ({"bus_3b": "5e", "bus_5e": "5f"}, "0000:5e:00"),
    ],
    ids=["as it was", "shifted", "exchanged", "both shifted"],
)
def test_the_record_goes_with_the_card(places: Mapping[str, str], found: str) -> None:
    host = machine(cards=nics("3b", "5e"))
    record.write(host, noted("0000:3b:00"))
    put(host, **places)
    assert record.read(host)._replace(cards={}) == noted(found)


def test_a_card_that_does_not_answer_keeps_its_record() -> None:
    host = machine(cards=nics("3b"))
    record.write(host, noted("0000:3b:00"))
    host.cards.clear()
    assert record.read(host)._replace(cards={}) == noted("0000:3b:00")


def test_another_card_in_the_slot_has_none() -> None:
    host = machine(cards=nics("3b"))
    record.write(host, noted("0000:3b:00"))
    host.cards[0].serial = "MT2116X99999"
    assert record.read(host) == Record()


def test_a_number_that_several_cards_have_tells_nothing() -> None:
    """Serial numbers of vital product data can repeat."""
    host = machine(cards=nics("3b", "5e"))
    host.cards[1].serial = host.cards[0].serial
    record.write(host, noted("0000:3b:00"))
    assert record.read(host)._replace(cards={}) == noted("0000:3b:00")
    put(host, bus_3b="3c")
    assert record.read(host)._replace(cards={}) == noted("0000:3b:00")


@pytest.mark.parametrize("serial", ["", "MT2116X00059"])
def test_a_record_of_1_0_0_is_of_the_card_that_is_there(serial: str) -> None:
    host = machine(cards=nics("3b"))
    host.cards[0].serial = serial
    record.write(host, noted("0000:3b:00"))
    content = json.loads(host.files.read(record.PATH))
    del content["cards"]
    host.disk.install(record.PATH, json.dumps(content).encode(), 0o600)
    found = record.read(host)
    assert found == noted("0000:3b:00")
    record.write(host, found)
    assert record.read(host).cards == ({"0000:3b:00": vpd.card_at(host, "0000:3b:00")} if serial else {})


def test_the_record_does_not_have_the_number_itself() -> None:
    host = machine(cards=nics("3b"))
    record.write(host, noted("0000:3b:00"))
    assert "MT2116" not in host.files.read(record.PATH)


def test_a_value_that_no_reboot_applied_causes_none_in_another_slot(node: Node) -> None:
    host = node.host
    host.cards[0].stuck = True
    node.converge()
    asked = node.reboots_asked
    assert "a restart of the host did not apply it" in node.findings()
    put(host, bus_3b="3c")
    node.boot()
    assert node.reboots_asked == asked, node.findings()
    assert "0000:3c:00.0" in host.files.read(record.PATH)
    assert PF0 not in host.files.read(record.PATH)


def test_values_that_were_given_up_are_set_on_another_card(node: Node) -> None:
    node.deploy()
    known = record.read(node.host)
    assert known.cards
    value = "NUM_VF_MSIX=63"
    record.write(node.host, known.with_attempts(PF0, value, Attempts("", 2)))
    assert record.read(node.host).tried(PF0, value)
    node.host.cards[0].serial = "MT2116X99999"
    assert record.read(node.host).tried(PF0, value) is None
