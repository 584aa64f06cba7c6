# SPDX-License-Identifier: Apache-2.0
"""verify, plan and the exporter agree on one state; test_every_state.py goes through them all."""

import json
from typing import Any

import pytest
import record
from exporter import facts, sources
from hostnic.devices.lag import Lag
from hostnic.ops.vf import UnbindVfs
from lab.modelled import card
from lab.modelled.network import FakeBond, FakeNetwork
from nic.chain import Way
from nic.judge import joined
from plan import LIVE_ATTEMPTS
from survey import ports
from unit.sriov_switchdev.node import PF0, PF1, PORT0, PORT1, REFUSED, Node, compute_node, declare_bond

NEXT = "the next hook of the charm does it"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A converged host whose ports offer 4 VFs and have 2."""
    node = Node(compute_node(cards=[card(total_vfs=4)]), monkeypatch).configure(num_vfs=2)
    node.converge(reboot_settle=0)
    return node


def found(node: Node) -> dict[str, str]:
    """By subject and sentence, the remedy of each finding of verify."""
    rows: list[dict[str, str]] = json.loads(node.action("verify", format="json")["findings"])
    return {f"{each['subject']}: {each['what']}": each["remedy"] for each in rows}


def planned(node: Node) -> dict[str, Any]:
    return json.loads(node.action("plan", format="json")["plan"])


def keys(node: Node) -> list[str]:
    return [step["key"] for step in planned(node)["steps"]]


def told(node: Node) -> dict[str, facts.PortFacts]:
    published = facts.read(node.host, "sriov-switchdev")
    return {port.bdf: port for port in published.ports} if published else {}


def test_a_feature_that_the_driver_does_not_tell_is_not_declared_to_the_exporter(small: Node) -> None:
    for port in small.host.network.ports():
        port.hw_tc_offload = None  # type: ignore[assignment]
    small.emit("update_status")
    port = told(small)[PF0]
    assert "hw_tc_offload" not in port.declared
    stale = port._replace(declared={**port.declared, "hw_tc_offload": 1})
    assert not [sample for sample in sources.settings(small.host, stale) if "hw_tc_offload" in sample.labels]
    assert small.action("verify")["verified"] == "true"


def test_queues_are_declared_to_the_exporter_when_verify_judges_them(small: Node) -> None:
    assert "queues" in told(small)[PF0].declared
    small.configure(num_vfs=3, reboot_policy="manual").emit()
    assert "queues" not in told(small)[PF0].declared


def test_another_card_at_the_address_is_not_told_as_the_declared_port(small: Node) -> None:
    port = small.host.port(PF0)
    port.mac = f"{port.mac[:-2]}aa"
    small.emit("update_status")
    assert [*told(small)] == [PF1]


def test_autoprobe_that_is_off_is_said_and_turned_on(small: Node) -> None:
    small.host.port(PF0).autoprobe = False
    assert keys(small) == [f"{PF0}/autoprobe-on"]
    assert found(small) == {f"{PF0}: VF autoprobe off": NEXT}
    assert small.emit("update_status").name == "active"
    assert found(small) == {}


def test_a_nic_that_is_being_restored_promises_nothing_of_its_other_port(small: Node) -> None:
    small.host.port(PF0).eswitch_mode = "legacy"
    other = small.host.port(PF1)
    other.hw_tc_offload, other.channels = False, 1
    said = found(small)
    assert said[f"{PF1}: hw-tc-offload off"] == f"done once {PF0} is restored"
    assert said[f"{PF1}: the number of queues of {PORT1} is 1, not 8"] == f"done once {PF0} is restored"
    assert said[f"{PF0}: eswitch fell back to legacy mode"] == NEXT


def test_a_lost_port_that_lacp_uses_alone_is_held_with_the_reason(
    small: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its neighbour has a link, and the switch does not use it."""
    real = FakeNetwork.joined

    def without_a_partner(network: FakeNetwork, bond: FakeBond, name: str, now: float) -> bool:
        return name != PORT1 and real(network, bond, name, now)

    monkeypatch.setattr(FakeNetwork, "joined", without_a_partner)
    small.host.port(PF0).eswitch_mode = "legacy"
    small.configure(reboot_policy="manual")
    for _ in range(2):
        small.emit("update_status")
        said = small.findings()
        assert f"{PORT0} is the only port of bond0 that carries traffic; fix {PORT1}" in said
        assert NEXT not in said
        assert not [line for line in small.writes if "restore" in line]
    assert small.state.unit_status.name == "blocked"


@pytest.mark.parametrize("policy", ["manual", "always"])
def test_a_port_out_of_its_bond_returns_at_once_and_the_rest_is_held(small: Node, policy: str) -> None:
    declare_bond(small.host)
    small.host.network.bonds["bond0"].members.remove(PORT1)
    small.host.members_changed()
    small.configure(num_vfs=3, reboot_policy=policy)
    said = found(small)
    assert said[f"{PF1}: out of bond0"] == NEXT
    assert said[f"{PF1}: 2 of 3 VFs"] != NEXT
    small.emit("config_changed")
    assert f"{PF1}: out of bond0" not in found(small)


def test_vfs_that_required_keeps_unbound_are_no_promise(small: Node) -> None:
    small.configure(vf_lag="required").emit()
    small.host.cards[0].lag, small.host.cards[0].lag_object = None, False
    for bdf in (PF0, PF1):
        UnbindVfs(bdf).run(small.host)
    said = found(small)
    assert "0000:3b:00: VF-LAG cannot form: the firmware offers no LAG object" in said
    assert not [sentence for sentence in said if "bound to no driver" in sentence]


@pytest.mark.parametrize(
    "stop", ["the firmware offers no LAG object", f"the port ({PORT1}) is gone"], ids=["required", "gone"]
)
def test_no_reboot_is_asked_for_that_would_not_lead_to_what_is_declared(small: Node, stop: str) -> None:
    """The plan holds steps of this NIC, and verify is blocked by what no step mends."""
    small.configure(vf_lag="required").emit()
    before = small.reboots_asked
    if "gone" in stop:
        small.host.port(PF1).gone = True
        small.host.network.bonds["bond0"].members.remove(PORT1)
    else:
        small.host.cards[0].lag, small.host.cards[0].lag_object = None, False
    small.configure(num_vfs=3, reboot_policy="always").emit()
    assert planned(small)["held"]
    assert stop in small.looked().not_ready
    assert small.reboots_asked == before


def test_a_port_without_carrier_is_one_row_of_show_health(small: Node) -> None:
    small.host.network.unplugged.add(PORT1)
    small.host.sleep(5)
    rows = json.loads(small.action("show-health", seconds=1, format="json")["health"])
    about = [(row["about"], row["found"]) for row in rows if PORT1 in (row["about"], row["found"].split()[0])]
    assert about == [(PF1, f"{PORT1} has no carrier")]


def test_an_information_does_not_bring_back_what_went_wrong_at_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch).configure(num_vfs=2)
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.fail("set_eswitch_mode", f"{PF0} switchdev", REFUSED)
    node.boot()
    node.configure(allow_live=True).emit()
    node.emit("update_status")
    assert node.action("verify")["verified"] == "true"
    node.configure(steering_mode="dmfs").emit()
    said = [*found(node)]
    assert said
    assert all("flow steering mode" in sentence for sentence in said)


def test_the_port_that_stays_may_change_once_its_neighbour_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first port is out of the bond, and returns before the second one leaves."""
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch).configure(num_vfs=2, allow_live=True)
    declare_bond(node.host)
    node.set_up()
    node.host.links.set_master(PORT0, None)
    node.configure(num_vfs=1)
    assert not planned(node)["held"]
    assert node.emit("config_changed").name == "active"
    assert node.host.reachable


def test_a_nic_of_which_one_port_says_no_has_no_vf_lag_for_the_exporter_and_show_health(small: Node) -> None:
    """The kernel log or debugfs of one port may tell, and that of the other not, or the opposite."""
    found = small.looked()
    (nic,) = (way.nic for way in found.ways)
    no = [now.pf._replace(lag=Lag(active)) for now, active in zip(nic.ports, (True, False), strict=True)]
    host = found.observed.host._replace(pfs=tuple(no))
    ways = tuple(Way(nic) for nic in joined(found.wanted, found.observed._replace(host=host)))
    assert [port.actual["vf_lag"] for port in ports(found._replace(ways=ways))] == [0, 0]


def test_queues_that_a_nic_gets_with_its_held_steps_are_no_promise_of_the_next_hook(small: Node) -> None:
    """Its other port needs another number of VFs, and the boot that brings them sets the queues, too."""
    small.host.port(PF1).channels = 1
    small.configure(devices=f"{PORT0}:3 {PORT1}:2", reboot_policy="manual")
    remedy = found(small)[f"{PF1}: the number of queues of {PORT1} is 1, not 8"]
    assert remedy == found(small)[f"{PF0}: 2 of 3 VFs"] != NEXT
    small.emit()
    assert small.host.port(PF1).channels == 1


def test_vfs_that_are_bound_though_vf_lag_waits_for_a_reboot_are_a_promise(small: Node) -> None:
    small.configure(allow_live=True, reboot_policy="manual").emit()
    for _ in range(LIVE_ATTEMPTS):
        record.count_live_failure(small.host, small.looked().wanted.digest)
    small.host.cards[0].lag, small.host.cards[0].lag_in_firmware = None, False
    for bdf in (PF0, PF1):
        UnbindVfs(bdf).run(small.host)
    said = found(small)
    assert said["0000:3b:00: VF-LAG is not active"].startswith("the live change failed 3 times")
    assert said[f"{PF0}: 2 of 2 VFs bound to no driver"] == NEXT
    small.emit("update_status")
    assert [*found(small)] == ["0000:3b:00: VF-LAG is not active"]


def test_another_card_is_left_out_of_show_health_and_check_host(small: Node) -> None:
    port = small.host.port(PF0)
    port.mac, port.netdev = f"{port.mac[:-2]}aa", "enp59s0f0np9"
    rows = json.loads(small.action("show-health", seconds=1, format="json")["health"])
    assert PORT1 in [row["about"] for row in rows]
    assert "enp59s0f0np9" not in [row["about"] for row in rows]
