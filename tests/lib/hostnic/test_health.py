# SPDX-License-Identifier: Apache-2.0
"""Two looks at a host's ports, and what they say of the ports' health."""

import errno

import pytest
from converge import Finding, Severity
from hostnic.devices import discover, health
from lab.modelled import FakeHost
from lab.modelled.states import converged

P0, P1 = "enp59s0f0np0", "enp59s0f1np1"


def watched(host: FakeHost, seconds: float = 10.0) -> tuple[Finding, ...]:
    """Return the findings of ten seconds."""
    ports = discover.observe(host).pfs
    before = health.count(host, ports)
    host.sleep(seconds)
    return health.compare(before, health.look(host, ports))


@pytest.fixture
def host() -> FakeHost:
    """A converged host with PFC on priority 3."""
    made = converged(FakeHost())
    for port in made.cards[0].ports:
        port.dcb.pfc = (3,)
        port.pause = False
    made.trace.clear()
    return made


def test_a_port_that_carries_traffic_is_healthy(host: FakeHost) -> None:
    busy = {"rx_packets_phy": 1e6, "tx_prio3_packets": 4e5, "rx_ecn_mark": 30, "rx_corrected_bits_phy": 9}
    host.port(P0).growth = dict(busy)
    assert watched(host) == ()
    assert host.trace == []


@pytest.mark.parametrize(
    ("counter", "what"),
    [
        ("rx_discards_phy", "20 received frames were dropped: the port's buffer was full"),
        ("rx_prio3_discards", "20 frames of priority 3 were dropped"),
        ("rx_out_of_buffer", "20 received frames were dropped: the host had no buffer ready"),
        ("link_down_events_phy", "the link went down 20 times"),
        ("outbound_pci_stalled_wr_events", "PCIe held up what the NIC writes in 20 seconds"),
        ("module_high_temp", "the transceiver became too hot 20 times"),
    ],
)
def test_what_grows_on_a_bad_port_only_is_named_with_a_remedy(
    host: FakeHost, counter: str, what: str
) -> None:
    host.port(P1).growth = {counter: 2}
    (found,) = watched(host)
    assert (found.severity, found.subject, found.what) == (Severity.WARNING, P1, what)
    assert found.remedy


@pytest.mark.parametrize(
    ("counter", "what"),
    [
        ("rx_prio3_pause_duration", "the network stopped priority 3 of this port for 45% of the time"),
        (
            "tx_prio3_pause_duration",
            "this host stopped priority 3 of the network for 45% of the time: it receives too slowly",
        ),
    ],
)
def test_pauses_are_judged_by_their_share_of_the_time_and_by_who_is_slow(
    host: FakeHost, counter: str, what: str
) -> None:
    host.port(P0).growth = {counter: 450_000.0}
    assert [found.what for found in watched(host)] == [what]
    host.port(P0).growth = {counter: 50_000.0}  # five per cent: bursts
    assert watched(host) == ()


def test_old_counts_of_a_healthy_port_are_no_news(host: FakeHost) -> None:
    host.port(P0).growth = {"rx_discards_phy": 1}
    host.sleep(1000.0)
    ports = discover.observe(host).pfs
    look = health.look(host, ports)
    later = look._replace(counted=look.counted._replace(at=look.counted.at + 10))
    assert health.compare(look.counted, later) == ()


def test_a_firmware_that_hangs_behind_a_link_that_is_up(host: FakeHost) -> None:
    """As on a card, its counters stand still then: they would tell of no fault."""
    host.port(P0).growth = {"rx_discards_phy": 2}
    ports = discover.observe(host).pfs
    before = health.count(host, ports)
    host.port(P0).silent = True
    host.sleep(10.0)
    (found,) = health.compare(before, health.look(host, ports))
    assert (found.subject, found.what) == (P0, "the firmware answers no command: Connection timed out")


def test_a_member_that_its_bond_does_not_use(host: FakeHost) -> None:
    host.fail("read", f"{P1}/bonding_slave/ad_partner_oper_port_state", OSError(errno.EIO, "gone"), None)
    assert [found.sentence() for found in watched(host)] == [
        f"{P1}: bond0 does not send on it; compare LACP on the switch port with this bond"
    ]


def test_counters_that_cannot_be_read_hide_nothing_else(host: FakeHost) -> None:
    host.fail("statistics", P0, OSError(errno.EBUSY, "Device or resource busy"), None)
    host.port(P1).growth = {"rx_crc_errors_phy": 1}
    found = watched(host)
    assert [each.subject for each in found] == [P0, P1]
    assert all(each.remedy for each in found)


def test_a_port_that_came_since_has_nothing_to_be_compared_with(host: FakeHost) -> None:
    ports = discover.observe(host).pfs
    before = health.count(host, ports[:1])
    host.sleep(5.0)
    assert health.compare(before, health.look(host, ports)) == ()
