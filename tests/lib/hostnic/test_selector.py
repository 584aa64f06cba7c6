# SPDX-License-Identifier: Apache-2.0
"""The device selector: what operators write, what it means on a host, and one sentence for the rest."""

import pytest
from converge import Severity
from converge.shape import InvalidValue
from hostnic.devices import inventory, selector
from hostnic.devices.selector import Entry
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeBond, FakeHost, card


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("auto", ()),
        ("  auto ", ()),
        ("enp63s0f0:8 enp63s0f1:8", (Entry("enp63s0f0", 8), Entry("enp63s0f1", 8))),
        ("enp63s0f0np0", (Entry("enp63s0f0np0", None),)),
        ("bond0:8", (Entry("bond0", 8),)),
        ("0000:3F:00.0:8", (Entry("0000:3f:00.0", 8),)),
        ("3f:00.1", (Entry("0000:3f:00.1", None),)),
        ("a\n\tb", (Entry("a", None), Entry("b", None))),
    ],
)
def test_what_operators_write(text: str, entries: tuple[Entry, ...]) -> None:
    assert selector.parse(text) == entries


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "an empty value"),
        ("   ", "an empty value"),
        ("auto enp63s0f0", "'auto'"),
        ("enp63s0f0:8,enp63s0f1:8", "'enp63s0f0:8,enp63s0f1:8'"),
        ("enp63s0f0:", "'enp63s0f0:'"),
        ("enp63s0f0:-1", "'enp63s0f0:-1'"),
        ("enp63s0f0:eight", "'enp63s0f0:eight'"),
        ("enp63s0f0:0", "'enp63s0f0:0'"),
        ("enp63s0f0:65536", "'enp63s0f0:65536'"),
        ("a-name-longer-than-a-netdev", "'a-name-longer-than-a-netdev'"),
        ("0000:3f:00.9", "'0000:3f:00.9'"),
        ("../etc", "'../etc'"),
        ("..", "'..'"),
        ("eth0 eth0:4", "'eth0' is not allowed; expected each device once"),
        ("3f:00.0 0000:3f:00.0", "'0000:3f:00.0' is not allowed; expected each device once"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_option_value_and_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(InvalidValue) as error:
        selector.parse(text)
    sentence = str(error.value)
    assert sentence.startswith("devices: ")
    assert says in sentence
    assert "\n" not in sentence
    assert "auto, or ports such as enp63s0f0:8" in sentence or "expected each device once" in sentence


names = st.from_regex(r"[a-z][a-z0-9]{0,9}", fullmatch=True).filter(lambda name: name != "auto")


@given(st.dictionaries(names, st.none() | st.integers(1, 65535), min_size=1, max_size=5))
def test_what_is_printed_is_read_back(entries: dict[str, int | None]) -> None:
    text = " ".join(name if count is None else f"{name}:{count}" for name, count in entries.items())
    assert selector.parse(text) == tuple(Entry(name, count) for name, count in entries.items())


AUTO = selector.Auto(lambda port: port.bond, "no port is in a kernel bond", "bond the ports")


def resolve(host: FakeHost, text: str, default: int = 4) -> selector.Choice:
    ports, _ = inventory.read(host, inventory.of_links(host.links.all()))
    return selector.choose(selector.parse(text), ports, AUTO, default)


def chosen(choice: selector.Choice) -> dict[str, int]:
    assert choice.refusal is None
    return {item.port.bdf: item.vfs for item in choice.chosen}


P0, P1 = "0000:3b:00.0", "0000:3b:00.1"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("auto", {P0: 4, P1: 4}),
        ("bond0", {P0: 4, P1: 4}),
        ("bond0:8", {P0: 8, P1: 8}),
        ("enp59s0f0np0:2 enp59s0f1np1", {P0: 2, P1: 4}),
        ("3b:00.1:7", {P1: 7}),
        ("bond0:8 enp59s0f0np0:8", {P0: 8, P1: 8}),
    ],
)
def test_the_ports_that_a_selector_selects(text: str, meaning: dict[str, int]) -> None:
    assert chosen(resolve(FakeHost(), text)) == meaning


def test_auto_takes_only_ports_in_a_bond() -> None:
    host = FakeHost([card("3b"), card("5e")])
    assert chosen(resolve(host, "auto")) == {P0: 4, P1: 4}


def test_auto_takes_the_ports_of_every_bond() -> None:
    host = FakeHost([card("3b"), card("5e")])
    host.network.bonds["bond1"] = FakeBond("bond1", members=["enp94s0f0np0", "enp94s0f1np1"])
    assert len(chosen(resolve(host, "auto"))) == 4


def test_hosts_of_one_application_name_different_devices() -> None:
    choice = resolve(FakeHost(), "enp63s0f0:8 enp63s0f1:8 enp59s0f0np0:8 enp59s0f1np1:8")
    assert chosen(choice) == {P0: 8, P1: 8}
    assert choice.absent == ("enp63s0f0", "enp63s0f1")


def test_a_representor_is_never_chosen() -> None:
    host = FakeHost()
    host.port(P0).eswitch_mode = "switchdev"
    host.files.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "2")
    representor = next(link.name for link in host.links.all() if link.port_name == "pf0vf0")
    assert resolve(host, representor).chosen == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("enp63s0f0:8", "matches no device on this host (enp63s0f0)"),
        ("bond0:8 enp59s0f0np0:4", "asks for both 8 and 4 VFs on 0000:3b:00.0"),
    ],
)
def test_a_selector_without_a_match_blocks_with_one_finding(text: str, says: str) -> None:
    finding = resolve(FakeHost(), text).refusal
    assert finding is not None
    assert finding.severity is Severity.BLOCKED
    assert says in finding.what
    assert finding.remedy


def test_auto_without_a_bond_lists_the_ports() -> None:
    finding = resolve(FakeHost(bonded=False), "auto").refusal
    assert finding is not None
    assert "enp59s0f0np0" in finding.remedy


def test_a_number_of_vfs_is_refused_if_the_charm_takes_none() -> None:
    with pytest.raises(InvalidValue, match=r"'b:4' is not allowed; expected .* without numbers of VFs"):
        selector.parse("a b:4", counts=False)
    assert selector.parse("a b", counts=False) == (Entry("a", None), Entry("b", None))


def test_names_without_a_match_are_one_note_if_others_match() -> None:
    (note,) = selector.missing(("eth0", "eth1"))
    assert (note.severity, note.what) == (Severity.INFO, "not on this host: eth0, eth1")
    assert selector.missing(()) == []
