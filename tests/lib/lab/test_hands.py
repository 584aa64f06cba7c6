# SPDX-License-Identifier: Apache-2.0
"""The rack's answers to what the acceptance tool starts, as the tool itself reads them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from acceptance.measure.shells import Ssh, nodes
from converge import StepError
from lab.guest import Completed, GuestError
from lab.rack.hands import Hands
from operate.client import Juju

ROWS = [{"in port": "enp59s0f0r0", "packets in NIC": "12"}]


class Guest:
    """Answers each command, and keeps it."""

    def __init__(self, name: str) -> None:
        self.name, self.ran = name, list[list[str]]()
        self.answer = Completed(0, f"on {name}\n", "")

    def run(self, command: list[str], *, check: bool, timeout: float) -> Completed:
        assert not check
        self.ran.append(command)
        if self.name == "node-1" and "lost" in command[-1]:
            raise GuestError("the guest is gone")
        return self.answer


class Rack:
    """Two nodes with the charms' units, as :class:`lab.rack.build.Rack` has them."""

    def __init__(self) -> None:
        self.guests = {name: Guest(name) for name in ("node-0", "node-1")}
        self.nodes = {"node-0": 0, "node-1": 1}
        self.asked: list[tuple[list[str], str, dict[str, str]]] = []
        self.failure: str | None = None
        charms = ("sriov-switchdev", "roce-qos")
        self.deployment = SimpleNamespace(
            applications={name: SimpleNamespace(charm=name) for name in (*charms, "cumulus-fabric")}
        )
        units = [
            SimpleNamespace(name=f"{charm}/{number}", machine=SimpleNamespace(name=name))
            for charm in charms
            for name, number in self.nodes.items()
        ]
        fabric = SimpleNamespace(name="cumulus-fabric/0", machine=SimpleNamespace(name="fabric"))
        self.controller = SimpleNamespace(
            units={unit.name: unit for unit in (*units, fabric)}, action=self._action
        )
        self.floor = SimpleNamespace(each=self._each)

    def _each(self, what: str, work: dict[str, Any], patience: float) -> dict[str, Any]:
        return {name: each(self.guests[name]) for name, each in work.items()}

    def _action(self, names: list[str], action: str, patience: float, **given: str) -> list[Any]:
        self.asked.append((names, action, given))
        return [SimpleNamespace(results={"offload": json.dumps(ROWS)}, failure=self.failure)]


@pytest.fixture
def rack() -> Rack:
    return Rack()


@pytest.fixture
def hands(rack: Rack) -> Hands:
    return Hands(rack, lambda address: {"10.7.208.66": ("node-1", "instance-00000002")}[address])  # type: ignore[arg-type]


def test_the_tool_finds_the_nodes_and_their_units(hands: Hands) -> None:
    found = nodes(Juju(run=hands), ["node-0", "node-1"])
    assert found["node-1"].units == {
        "nova-compute": "nova-compute/1",
        "sriov-switchdev": "sriov-switchdev/1",
        "roce-qos": "roce-qos/1",
    }


def test_a_script_runs_on_its_node_with_the_clouds_tools(rack: Rack, hands: Hands) -> None:
    node = nodes(Juju(run=hands), ["node-1"])["node-1"]
    assert node.run("nproc; mpstat", 30) == "on node-1\n"
    ((shell, option, script),) = rack.guests["node-1"].ran
    assert (shell, option) == ("bash", "-c")
    assert script.startswith("PATH=$PATH:/opt/cloud/root/usr/bin\n")
    assert script.endswith("\nnproc; mpstat")
    assert rack.guests["node-0"].ran == []


def test_a_script_that_fails_is_said_with_its_last_words(rack: Rack, hands: Hands) -> None:
    rack.guests["node-0"].answer = Completed(1, "", "iperf3: unable to connect\n")
    node = nodes(Juju(run=hands), ["node-0"])["node-0"]
    with pytest.raises(StepError, match="node-0: iperf3: unable to connect"):
        node.run("iperf3", 30)


def test_an_action_runs_on_its_unit_with_its_parameters(rack: Rack, hands: Hands) -> None:
    node = nodes(Juju(run=hands), ["node-0"])["node-0"]
    assert node.table("sriov-switchdev", "show-offload", "offload") == ROWS
    assert rack.asked == [(["sriov-switchdev/0"], "show-offload", {"format": "json"})]


def test_an_action_that_fails_is_said_with_the_charms_reason(rack: Rack, hands: Hands) -> None:
    rack.failure = "Open vSwitch does not answer"
    node = nodes(Juju(run=hands), ["node-0"])["node-0"]
    with pytest.raises(StepError, match="show-offload: Open vSwitch does not answer"):
        node.table("sriov-switchdev", "show-offload", "offload")


def test_ssh_to_a_floating_ip_is_a_shell_in_that_servers_namespace(
    rack: Rack, hands: Hands, tmp_path
) -> None:
    server = Ssh(hands, "vm2", "ubuntu@10.7.208.66", tmp_path / "key", tmp_path / "known")
    assert server.run("cloud-init status --wait", 30) == "on node-1\n"
    ((*space, script),) = rack.guests["node-1"].ran
    assert space == ["ip", "netns", "exec", "instance-00000002", "bash", "-c"]
    assert script.endswith("\ncloud-init status --wait")


def test_a_server_whose_node_is_gone_cannot_be_reached(hands: Hands, tmp_path) -> None:
    server = Ssh(hands, "vm2", "ubuntu@10.7.208.66", tmp_path / "key", tmp_path / "known")
    with pytest.raises(StepError, match="vm2 cannot be reached by ssh: the guest is gone"):
        server.run("lost", 30)
