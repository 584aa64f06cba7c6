# SPDX-License-Identifier: Apache-2.0
"""The question of a confirmed change: do the addresses that answered before still answer?"""

from hostnic.network import reachability, routes
from hostnic.ops.bonding import JoinBond, LeaveBond
from hostnic.system import failure
from lab.modelled import FakeHost

ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "br-nvda\t00000000\t0119A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "br-nvda\t0019A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)
ROUTES6 = (
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "fe800000000000000000000000000001 00000400 00000001 00000000 00000003  br-nvda\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"
)


def node() -> FakeHost:
    host = FakeHost()
    host.disk.install(routes.ROUTES, ROUTES.encode(), 0o444)
    return host


def test_the_default_routes_next_hops() -> None:
    host = node()
    assert reachability.gateways(host) == ("192.168.25.1",)
    host.disk.install(routes.ROUTES6, ROUTES6.encode(), 0o444)
    assert reachability.gateways(host) == ("192.168.25.1", "fe80::1%br-nvda")


def test_a_host_without_a_default_route_has_none() -> None:
    assert reachability.gateways(FakeHost()) == ()


def test_an_address_that_did_not_answer_before_is_left_out() -> None:
    host = node()
    silent = ("ping", "-n", "-q", "-c", "1", "-W", "1", "10.0.0.9")
    host.answers[silent] = failure(silent, 1, "", "")
    assert reachability.baseline(host, ["10.0.0.9", "10.0.0.8"]) == ("192.168.25.1", "10.0.0.8")


def test_lost_while_the_bond_is_cut_and_found_again_when_lacp_is_back() -> None:
    host = node()
    before = reachability.baseline(host)
    for netdev in ("enp59s0f0np0", "enp59s0f1np1"):
        LeaveBond(netdev).run(host)
    assert reachability.lost(host, before, deadline=3.0) == before
    JoinBond("enp59s0f0np0", "bond0").run(host)
    assert reachability.lost(host, before, deadline=3.0) == ()
