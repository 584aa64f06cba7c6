# SPDX-License-Identifier: Apache-2.0
"""Changes of a port's data centre bridging: read back, rolled over a bond, and refused in one sentence."""

import errno

import pytest
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App, Dcb, Ets
from hostnic.netlink.dcbdrivers import DRIVERS, driver
from hostnic.ops.dcb import SetApps, SetEts, SetPause, SetPfc, TakeDcbx
from hostnic.ops.members import AwaitMember, InTurn, is_distributing
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost, card
from lab.modelled.filedoor import FileDoor
from lab.modelled.nic.dcb import QUIRKS, FakeDcb
from lib.operations import refused

P0, P1 = "enp59s0f0np0", "enp59s0f1np1"
ROCE = Ets(
    (0, 0, 0, 3, 0, 0, 6, 0), ("ets", *["strict"] * 2, "ets", *["strict"] * 4), (50, 0, 0, 50, 0, 0, 0, 0)
)
MAP = tuple(App(dcb.DSCP, dscp, dscp >> 3) for dscp in range(64))


def host_with(name: str) -> FakeHost:
    return FakeHost([card(driver=name)])


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.mark.parametrize(
    "op", [SetEts(P0, ROCE), SetApps(P0, (dcb.DSCP,), MAP), SetPfc(P0, (3,), 10), SetPause(P0, False)]
)
def test_a_change_writes_once_and_a_second_time_nothing(host: FakeHost, op) -> None:
    op.run(host)
    assert len(host.trace) == 1
    op.run(host)
    assert len(host.trace) == 1


@pytest.mark.parametrize(
    ("op", "deaf", "says"),
    [
        (SetEts(P0, ROCE), "ets", "ETS of enp59s0f0np0 reads back differently"),
        (SetApps(P0, (dcb.DSCP,), MAP), "apps", "APP entries of enp59s0f0np0 read back differently"),
        (SetPfc(P0, (3,)), "pfc", "PFC of enp59s0f0np0 reads back differently"),
    ],
)
def test_a_setting_that_the_driver_has_no_operation_for_is_noticed(
    host: FakeHost, op, deaf: str, says: str
) -> None:
    host.port(P0).dcb.deaf.add(deaf)
    assert says in refused(op, host).reason


@pytest.mark.parametrize("op", [SetEts(P0, ROCE), SetApps(P0, (dcb.DSCP,), MAP), SetPfc(P0, (3,))])
def test_a_refusal_names_setting_port_and_remedy(host: FakeHost, op) -> None:
    host.port(P0).dcb.refuses = True
    error = refused(op, host)
    assert "the driver of enp59s0f0np0 refused: " in error.reason
    assert ": Invalid argument" in error.reason
    assert "lldpad" in error.remedy


def test_a_port_without_data_centre_bridging_is_reported(host: FakeHost) -> None:
    host.port(P0).dcb.no_ops = True
    assert "does not support this" in refused(SetEts(P0, ROCE), host).reason


def test_a_port_that_is_gone_is_reported(host: FakeHost) -> None:
    host.fail("set_dcb", P0, OSError(errno.ENODEV, "No such device"))
    assert "is gone" in refused(SetEts(P0, ROCE), host).reason


def test_pfc_is_refused_on_the_only_port_that_carries_traffic(host: FakeHost) -> None:
    host.network.unplugged.add(P1)
    error = refused(InTurn(SetPfc(P0, (3,)), P0, "bond0", (P1,)), host)
    assert "no other port of bond0 carries traffic" in error.reason
    assert error.remedy == f"bring up {P1} first"
    assert host.trace == []


def test_pfc_rolls_over_a_bond_without_a_blackout(host: FakeHost) -> None:
    InTurn(SetPfc(P0, (3,)), P0, "bond0", (P1,)).run(host)
    host.sleep(0.5)
    # Its neighbour may not follow before it carries again.
    assert "no other port" in refused(InTurn(SetPfc(P1, (3,)), P1, "bond0", (P0,)), host).reason
    AwaitMember(P0, "bond0", settle=2.0).run(host)
    InTurn(SetPfc(P1, (3,)), P1, "bond0", (P0,)).run(host)
    AwaitMember(P1, "bond0", settle=2.0).run(host)
    assert host.blackouts == 0
    assert host.trace == [f"set_dcb {P0} pfc 3", f"set_dcb {P1} pfc 3"]


def test_without_the_wait_before_the_first_read_the_model_notices_the_blackout(host: FakeHost) -> None:
    InTurn(SetPfc(P0, (3,)), P0, "bond0", (P1,)).run(host)
    AwaitMember(P0, "bond0").run(host)
    InTurn(SetPfc(P1, (3,)), P1, "bond0", (P0,)).run(host)
    assert host.blackouts == 1


class ToldOtherwise(FakeHost):
    """A host one of whose attributes reads as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.told = ("", "")
        self.files = Told(self)


class Told(FileDoor):
    kernel: ToldOtherwise

    def read(self, path: str) -> str:
        return self.kernel.told[1] if path == self.kernel.told[0] else super().read(path)


@pytest.mark.parametrize("side", ["actor", "partner"])
@pytest.mark.parametrize("state", ["7", "15", "N/A"])  # the last one without an aggregator
def test_a_member_carries_traffic_when_both_sides_of_lacp_use_it(side: str, state: str) -> None:
    host = ToldOtherwise()
    assert is_distributing(host, "bond0", P0)
    host.told = (f"/sys/class/net/{P0}/bonding_slave/ad_{side}_oper_port_state", state)
    assert not is_distributing(host, "bond0", P0)


def test_a_cable_length_alone_flaps_no_link(host: FakeHost) -> None:
    host.network.unplugged.add(P1)
    SetPfc(P0, (), 50).run(host)
    assert host.port(P0).dcb.cable == 50
    assert host.network.flaps == {}


def test_a_driver_without_cable_length_is_reported() -> None:
    host = host_with("bnxt_en")
    error = refused(SetPfc(P0, (3,), 50), host)
    assert "reads 0 m after 50 m was set" in error.reason


def test_dscp_entries_are_replaced_in_place_so_that_trust_stays(host: FakeHost) -> None:
    port = host.port(P0).dcb
    port.set(Dcb(apps=(App(dcb.DSCP, 26, 5), App(dcb.DSCP, 48, 1))))
    SetApps(P0, (dcb.DSCP,), MAP).run(host)
    assert host.trace == [f"set_dcb {P0} apps 64"]
    assert port.apps == set(MAP)


@pytest.mark.parametrize("name", ["bnxt_en", "ice"])
def test_where_the_kernel_keeps_both_entries_the_old_one_is_deleted(name: str) -> None:
    host = host_with(name)
    host.port(P0).dcb.apps = {App(dcb.DSCP, 26, 5), App(dcb.DSCP, 3, 7), App(dcb.DSCP, 48, 6)}
    SetApps(P0, (dcb.DSCP,), MAP).run(host)
    assert host.port(P0).dcb.apps == set(MAP)
    before = list(host.trace)
    SetApps(P0, (dcb.DSCP,), MAP).run(host)
    assert host.trace == before


def test_no_dscp_entry_means_that_the_port_trusts_pcp(host: FakeHost) -> None:
    SetApps(P0, (dcb.DSCP,), MAP).run(host)
    SetApps(P0, (dcb.DSCP,), ()).run(host)
    assert host.port(P0).dcb.apps == set()


def test_entries_of_other_selectors_stay() -> None:
    host = host_with("bnxt_en")
    host.port(P0).dcb.apps = {App(dcb.ETHERTYPE, 0x8906, 4)}
    SetApps(P0, (dcb.DSCP,), MAP).run(host)
    assert App(dcb.ETHERTYPE, 0x8906, 4) in host.port(P0).dcb.apps


def test_qede_takes_no_dscp() -> None:
    assert "APP: Invalid argument" in refused(SetApps(P0, (dcb.DSCP,), MAP), host_with("qede")).reason


@pytest.mark.parametrize("name", ["mlx5_core", "bnxt_en", "qede"])
def test_dcbx_is_taken_over_in_the_drivers_own_mode(name: str) -> None:
    host = host_with(name)
    table = driver(name)
    host.port(P0).dcb.dcbx = 0
    assert not table.may_set(host.dcb.get(P0))
    TakeDcbx(P0, table.dcbx_ask, table.dcbx).run(host)
    assert table.may_set(host.dcb.get(P0))
    TakeDcbx(P0, table.dcbx_ask, table.dcbx).run(host)
    assert len(host.trace) == 1


def test_a_firmware_that_keeps_dcbx_is_reported_with_a_remedy() -> None:
    host = host_with("bnxt_en")
    host.port(P0).dcb.firmware_agent = True
    host.port(P0).dcb.driver_restarts()
    assert "refused" in refused(SetEts(P0, ROCE), host).reason
    error = refused(TakeDcbx(P0, 9, 9), host)
    assert "the firmware keeps DCBX" in error.reason
    assert "nic-firmware" in error.remedy


def test_a_driver_without_pause_frames_is_no_failure(host: FakeHost) -> None:
    assert host.ethtool.pause("bond0") is None
    SetPause("bond0", False).run(host)
    assert host.trace == []


def test_an_eswitch_mode_change_resets_what_the_driver_keeps_and_not_what_the_port_keeps(
    host: FakeHost,
) -> None:
    port = host.port(P0).dcb
    for op in (SetEts(P0, ROCE), SetApps(P0, (dcb.DSCP,), (App(dcb.DSCP, 26, 5),)), SetPfc(P0, (3,), 50)):
        op.run(host)
    port.driver_restarts()
    assert port.ets.tsa == ("vendor",) * 8
    assert port.cable == 7
    assert port.pfc == (3,)
    assert port.apps == {App(dcb.DSCP, dscp, 5 if dscp == 26 else dscp >> 3) for dscp in range(64)}


def test_mlx5_reports_the_pause_frames_that_ethtool_read_last(host: FakeHost) -> None:
    host.port(P0).dcb.pfc = (3,)
    host.port(P0).dcb.sent[3] = 7
    told = host.dcb.get(P0).pfc
    assert told is not None
    assert told.sent[3] == 0
    assert host.ethtool.statistics(P0)["tx_prio3_pause"] == 7
    told = host.dcb.get(P0).pfc
    assert told is not None
    assert told.sent[3] == 7
    assert host.trace == []


def test_the_table_of_drivers_and_the_modelled_ones_agree() -> None:
    for entry in DRIVERS:
        quirks = QUIRKS[entry.name]
        # ixgbe takes entries, and does nothing with them.
        assert entry.name == "ixgbe" or (dcb.DSCP in quirks.selectors) == entry.dscp
        assert entry.name == "ixgbe" or (dcb.DATAGRAM_PORT in quirks.selectors) == entry.ports
        assert quirks.takes_over == entry.dcbx_ask
        assert quirks.needs & entry.dcbx == quirks.needs
        assert bool(entry.limit) == (entry.name not in ("mlx5_core", "hns3"))
    assert driver("ice").may_set(FakeDcb("ice").get())


entries = st.builds(App, st.just(dcb.DSCP), st.integers(0, 63), st.integers(0, 7))


@given(
    st.sampled_from(["mlx5_core", "bnxt_en", "ice"]),
    st.sets(entries, max_size=12),
    st.sets(entries, max_size=12).map(lambda found: {app.protocol: app for app in found}),
)
def test_any_map_replaces_any_other_on_every_driver(
    name: str, before: set[App], wanted: dict[int, App]
) -> None:
    host = host_with(name)
    if name == "mlx5_core":
        host.port(P0).dcb.set(Dcb(apps=tuple(sorted(before))))
    else:
        host.port(P0).dcb.apps = set(before)
    SetApps(P0, (dcb.DSCP,), tuple(sorted(wanted.values()))).run(host)
    assert host.port(P0).dcb.apps == set(wanted.values())
