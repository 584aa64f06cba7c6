# SPDX-License-Identifier: Apache-2.0
"""Single rules of the order that a trace of a whole host does not show."""

from desired import Desired, WantedPort
from hostnic.devices import discover
from hostnic.devices.model import Host
from lab.modelled import FakeHost
from lab.modelled.states import converged, free
from nic import chain
from nic.judge import Nic, joined
from observed import Observed

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"


def wanted(*bonds: str | None, lag: bool = True) -> Desired:
    """Both ports of the NIC with two VFs each, in these bonds; without them both in one."""
    first, second = bonds or ("bond0", "bond0")
    return Desired((WantedPort(P0, UPLINK0, 2, first, lag), WantedPort(P1, UPLINK1, 2, second, lag)))


def judged(host: FakeHost, declared: Desired) -> Nic:
    (nic,) = joined(declared, Observed(discover.observe(host)))
    return nic


def keys(host: FakeHost, declared: Desired) -> list[str]:
    parts = chain.live(judged(host, declared), declared, Observed(discover.observe(host)))
    return [step.key for part in parts for step in part.steps]


def freed(host: FakeHost, declared: Desired) -> list[str]:
    nic = judged(host, declared)
    return [now.port.bdf for now in chain.freed_by_restore(nic, nic.ports[:1])]


def test_a_restore_without_vf_lag_leaves_the_other_ports_vfs_bound() -> None:
    host = converged(FakeHost())
    host.port(P0).eswitch_mode = "legacy"
    assert freed(host, wanted(lag=False)) == [P0]
    assert freed(host, wanted(lag=True)) == [P0, P1]


def test_a_mode_change_turns_offload_on_though_it_is_on_before_it() -> None:
    host = FakeHost()
    host.port(P0).hw_tc_offload = True
    found = keys(host, wanted())
    assert found.index(f"{P0}/offload") > found.index(f"{P0}/switchdev")


def test_a_live_change_of_a_nic_goes_over_both_ports_if_one_of_them_has_a_bond() -> None:
    host = converged(FakeHost())
    host.port(P0).eswitch_mode = "legacy"
    host.port(P1).hw_tc_offload = False
    assert f"{P1}/offload" in keys(host, wanted("bond0", None))


def test_a_detached_port_without_carrier_is_waited_for_in_its_bond() -> None:
    """Its link comes up only as it joins."""
    host = converged(FakeHost(), bound=False)
    host.network.bonds["bond0"].members.remove(UPLINK1)
    host.members_changed()
    host.network.down.add(UPLINK1)
    host.cards[0].lag = None
    nic = judged(host, wanted())
    assert not nic.ports[1].pf.carrier
    assert nic.only_lag
    joining = keys(host, wanted())
    assert joining[joining.index(f"{P1}/join") + 1].startswith(f"{P1}/")


def test_a_port_without_vf_lag_says_nothing_of_it_where_its_vfs_are_bound() -> None:
    host = free(converged(FakeHost(), bound=False))
    host.cards[0].lag = None
    first, _ = judged(host, wanted(None, None, lag=False)).ports
    assert first.pf.lag.vf_lag is False
    (binding,) = chain.bind([first], after_change=False).steps
    assert binding.why == "the port is in switchdev mode by then"


def test_a_member_of_a_bond_that_is_no_pf_may_carry_its_traffic() -> None:
    """The unit that restores the port asks the bonding driver."""
    host = FakeHost()
    host.network.unplugged.add(UPLINK1)
    host.sleep(5.0)
    seen = discover.observe(host)

    def left(seen: Host) -> tuple[str, str]:
        (nic,) = joined(wanted(), Observed(seen))
        return nic.ports[0].left

    assert "is the only port of bond0" in left(seen)[0]
    bond = seen.bonds[0]
    assert left(seen._replace(bonds=(bond._replace(members=(*bond.members, "eno1")),))) == ("", "")
