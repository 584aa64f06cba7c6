# SPDX-License-Identifier: Apache-2.0
"""Single rules of the order that a trace of a whole host does not show."""

from boot import driver_reload
from desired import Desired, Port
from hostnic.devices import discover
from hostnic.devices.model import Host
from hostnic.testing import FakeHost
from hostnic.testing.states import converged, free
from nic import chain, steps
from nic.chain import Facts, When
from nic.judge import joined
from nic.steps import PortAndPf
from observed import Observed

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"


def pairs(host: FakeHost, *, bond: str | None = "bond0", lag: bool = True) -> list[PortAndPf]:
    """Both ports of the NIC with two VFs each, as they shall be and as they are."""
    seen = discover.observe(host)
    found: list[PortAndPf] = []
    for bdf, netdev in ((P0, UPLINK0), (P1, UPLINK1)):
        pf = seen.pf(bdf)
        assert pf
        found.append((Port(bdf, netdev, 2, bond, lag), pf))
    return found


def keys(found: list[PortAndPf], when: When) -> list[str]:
    wanted = Desired(tuple(port for port, _ in found))
    return [step.key for part in chain.forward(found, wanted, when, Facts()) for step in part.steps]


def test_a_restore_without_vf_lag_leaves_the_other_ports_vfs_bound() -> None:
    host = converged(FakeHost())
    host.port(P0).eswitch_mode = "legacy"
    assert f"{P1}/unbind" not in keys(pairs(host, lag=False), When.RESTORE)
    assert f"{P1}/unbind" in keys(pairs(host, lag=True), When.RESTORE)


def test_a_mode_change_turns_offload_on_though_it_is_on_before_it() -> None:
    host = FakeHost()
    host.port(P0).hw_tc_offload = True
    found = keys(pairs(host), When.LIVE)
    assert found.index(f"{P0}/offload") > found.index(f"{P0}/switchdev")


def test_a_live_change_of_a_nic_goes_over_both_ports_if_one_of_them_has_a_bond() -> None:
    host = converged(FakeHost())
    host.port(P0).eswitch_mode = "legacy"
    host.port(P1).hw_tc_offload = False
    (first, pf0), (second, pf1) = pairs(host)
    mixed = [(first, pf0), (second._replace(bond=None), pf1)]
    assert f"{P1}/offload" in keys(mixed, When.LIVE)


def test_a_detached_port_without_carrier_is_waited_for_in_its_bond() -> None:
    """Its link comes up only as it joins."""
    host = converged(FakeHost(), bound=False)
    host.network.bonds["bond0"].members.remove(UPLINK1)
    host.members_changed()
    host.network.down.add(UPLINK1)
    host.cards[0].lag = None
    found = pairs(host)
    assert not found[1][1].carrier
    assert steps.only_lag_missing(found)
    joining = keys(found, When.LIVE)
    assert joining[joining.index(f"{P1}/join") + 1].startswith(f"{P1}/")


def test_a_port_without_vf_lag_says_nothing_of_it_where_its_vfs_are_bound() -> None:
    host = free(converged(FakeHost(), bound=False))
    host.cards[0].lag = None
    (found, _) = pairs(host, bond=None, lag=False)
    assert found[1].lag.vf_lag is False
    (binding,) = steps.bind([found], after_change=False)
    assert binding.why == "the port is in switchdev mode by then"


def test_a_member_of_a_bond_that_is_no_pf_may_carry_its_traffic() -> None:
    """The unit that restores the port asks the bonding driver."""
    host = FakeHost()
    host.network.unplugged.add(UPLINK1)
    host.sleep(5.0)
    seen = discover.observe(host)
    wanted = Desired(tuple(port for port, _ in pairs(host)))

    def why_left(seen: Host) -> tuple[str, str]:
        (nic,) = joined(wanted, Observed(seen))
        return driver_reload.why_left(nic.ports[0])

    assert "is the only port of bond0" in why_left(seen)[0]
    bond = seen.bonds[0]
    assert why_left(seen._replace(bonds=(bond._replace(members=(*bond.members, "eno1")),))) == ("", "")
