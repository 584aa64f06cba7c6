# SPDX-License-Identifier: Apache-2.0
"""Actions print what the verbs say, for people and for programs, and write nothing."""

import json

import pytest
from hostnic.system import CommandError
from lab.modelled import card
from lab.openstack import actions
from unit.sriov_switchdev.node import APPROVE, METADATA, Node, compute_node

READING = ("plan", "verify", "list-devices", "show-offload", "show-health")

OPEN_VSWITCH = json.dumps(
    {
        "headings": ["other_config", "external_ids"],
        "data": [
            [["map", [["hw-offload", "true"]]], ["map", [["ovn-encap-ip", "172.16.0.51"]]]],
        ],
    }
)
ADDRESSES = json.dumps(
    [
        {"ifname": "br-nvda", "addr_info": [{"local": "192.168.25.51"}]},
        {"ifname": "br-nvda.40", "link": "br-nvda", "addr_info": [{"local": "172.16.0.51"}]},
    ]
)
HIT = "recirc_id(0),in_port(enp59s0f0_0),eth(src=fa:16:3e:00:00:01),eth_type(0x0800), packets:1200, bytes:9"
ARP = "recirc_id(0),in_port(enp59s0f0_0),eth(src=fa:16:3e:00:00:01),eth_type(0x0806), packets:3, bytes:9"
TUNNEL = "recirc_id(0),in_port(genev_sys_6081),tunnel(tun_id=0x1,dst=172.16.0.51),eth_type(0x0800), packets:7"
FLOWS = f"""\
ufid:1, {HIT}, used:0.1s, offloaded:yes, dp:tc, actions:bond0
ufid:2, {ARP}, used:0.1s, dp:ovs, actions:userspace(pid=1)
ufid:3, {TUNNEL}, bytes:9, used:0.1s, dp:tc, actions:enp59s0f0_0
"""


def with_ovs(node: Node, flows: str = FLOWS) -> Node:
    node.host.answers[("ovs-vsctl", "--format=json", "list", "Open_vSwitch")] = OPEN_VSWITCH
    node.host.answers[("ovs-appctl", "dpctl/dump-flows")] = flows
    node.host.answers[("ip", "-json", "address")] = ADDRESSES
    return node


@pytest.fixture
def converged(converged: Node) -> Node:
    return with_ovs(converged)


@pytest.mark.parametrize("action", READING)
def test_reading_actions_write_nothing_before_and_after_convergence(node: Node, action: str) -> None:
    def only_reads() -> bool:
        return all(node.action(action, format=output) and not node.writes for output in ("table", "json"))

    with_ovs(node)
    assert only_reads()
    node.converge(reboot_settle=0)
    assert only_reads()


def test_the_plan_of_a_new_node_lists_what_runs_and_what_is_held(node: Node) -> None:
    plan = json.loads(node.action("plan", format="json")["plan"])
    assert [step["key"] for step in plan["steps"]][-1] == "ovn-offload-sriov-bind.service/enabled"
    assert {step["disruption"] for step in plan["steps"]} == {"none"}
    held = [step["key"] for step in plan["held"]]
    assert (
        held.index("0000:3b:00.0/vfs") < held.index("0000:3b:00.0/switchdev") < held.index("0000:3b:00/lag")
    )
    assert held.index("0000:3b:00/lag") < held.index("0000:3b:00.0/bind")
    assert {step["release"] for step in plan["held"]} == {f"{APPROVE}; or set allow-live=true"}


def test_verify_says_what_differs_and_what_releases_it(node: Node) -> None:
    node.set_up()
    results = node.action("verify")
    assert results["verified"] == "false"
    assert "0 of 8 VFs, eswitch in legacy mode" in results["findings"]


def test_verify_of_a_converged_node(converged: Node) -> None:
    assert converged.action("verify") == {
        "verified": "true",
        "findings": "No finding: everything is as declared.",
    }


def test_list_devices_shows_every_port_and_what_is_wanted_of_it(node: Node) -> None:
    node.host.port("0000:3b:00.1").firmware.next_num_of_vfs = 16
    node.configure(devices="enp59s0f0np0:4")
    rows = json.loads(node.action("list-devices", format="json")["devices"])
    assert rows == [
        {
            "port": "0000:3b:00.0", "netdev": "enp59s0f0np0", "driver": "mlx5_core",
            "firmware": rows[0]["firmware"], "numa": "0", "bond": "bond0", "vfs": "0", "offered": "8",
            "next boot": "8", "mode": "legacy", "vf-lag": "no", "wanted": "4 VFs",
        },
        {
            "port": "0000:3b:00.1", "netdev": "enp59s0f1np1", "driver": "mlx5_core",
            "firmware": rows[0]["firmware"], "numa": "0", "bond": "bond0", "vfs": "0", "offered": "8",
            "next boot": "16", "mode": "legacy", "vf-lag": "no", "wanted": "not selected",
        },
    ]  # fmt: skip
    assert "MT_0000000359" in rows[0]["firmware"]
    assert node.action("list-devices")["devices"].splitlines()[0].split()[:3] == ["port", "netdev", "driver"]


def test_list_devices_without_mstconfig(node: Node) -> None:
    node.host.answers[("mstconfig",)] = CommandError(["mstconfig"], "mstconfig is not installed")
    rows = json.loads(node.action("list-devices", format="json")["devices"])
    assert {row["next boot"] for row in rows} == {"unknown"}


def offload(node: Node) -> dict[str, dict[str, str]]:
    """The rows of show-offload by the port that flows come in by."""
    rows: list[dict[str, str]] = json.loads(node.action("show-offload", format="json")["offload"])
    return {row["in port"]: row for row in rows}


def test_show_offload_counts_per_representor_and_says_why_not(converged: Node) -> None:
    rows = offload(converged)
    assert rows["enp59s0f0_0"] == {
        "in port": "enp59s0f0_0",
        "representor of": "0000:3b:00.0 pf0vf0",
        "in NIC": "1",
        "packets in NIC": "1200",
        "not in NIC": "1",
        "packets not in NIC": "3",
        "tracked in NIC": "0 of 0",
        "why not": "1 flow: its action goes to user space",
    }
    assert rows["enp59s0f1_7"]["why not"].startswith("no flow: its instance has sent nothing yet")
    assert rows["genev_sys_6081"]["representor of"] == "-"
    assert "the NIC's driver did not take it" in rows["genev_sys_6081"]["why not"]


KNOWN = "skb_priority(0/0),skb_mark(0/0),ct_state(0/0),recirc_id(0),dp_hash(0/0)"
SENT = f"ufid:1, {KNOWN},in_port(enp59s0f0_0),eth_type(0x0800), packets:1200, bytes:9, used:0.1s"
RECEIVED = f"ufid:2, {KNOWN},{TUNNEL.partition(',')[2]}, bytes:9, used:0.1s"
OWN = f"ufid:3, {KNOWN},in_port(br-nvda),eth_type(0x0800), packets:9000, bytes:9, used:0.1s"
TAKEN = f"""\
{SENT}, offloaded:yes, dp:tc, actions:set(tunnel(tun_id=0x1,dst=172.16.0.52)),genev_sys_6081
{OWN}, dp:tc, actions:bond0
{RECEIVED}, offloaded:yes, dp:tc, actions:enp59s0f0_0
"""


@pytest.mark.parametrize("offload", ["on", "off"])
def test_show_offload_is_what_the_acceptance_test_is_tested_with(node: Node, offload: str) -> None:
    """Its tests have no charm, and the charm's no cloud: they meet in one file of rows."""
    node.configure(num_vfs=1)
    node.converge(reboot_settle=0)
    with_ovs(node, TAKEN if offload == "on" else TAKEN.replace("offloaded:yes, dp:tc", "dp:ovs"))
    if offload == "off":
        settings = OPEN_VSWITCH.replace("true", "false")
        node.host.answers[("ovs-vsctl", "--format=json", "list", "Open_vSwitch")] = settings
    assert json.loads(node.action("show-offload", format="json")["offload"]) == actions.OFFLOAD[offload]


EST = (
    "recirc_id(0x1),in_port(enp59s0f0_0),ct_state(0x22/0x2f),ct_zone(0x1/0xffff),eth_type(0x0800), packets:9"
)
NEW = "recirc_id(0x1),in_port(enp59s0f0_0),ct_state(0x21/0x21),eth_type(0x0800), packets:1"
UNTRACKED = "recirc_id(0),in_port(enp59s0f0_0),ct_state(0/0),ct_zone(0/0),eth_type(0x0806), packets:1"
TRACKED_FLOWS = f"""\
ufid:1, {HIT}, used:0.1s, offloaded:yes, dp:tc, actions:ct(zone=1,nat),recirc(0x1)
ufid:2, {EST}, used:0.1s, offloaded:yes, dp:tc, actions:bond0
ufid:3, {NEW}, used:0.1s, dp:tc, actions:ct(commit,zone=1),bond0
ufid:4, {UNTRACKED}, used:0.1s, offloaded:yes, dp:tc, actions:ct_clear,enp59s0f0_1
ufid:5, {TUNNEL}, bytes:9, used:0.1s, offloaded:yes, dp:tc, actions:enp59s0f0_0
"""


def nics(node: Node) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(node.action("show-offload", format="json")["nics"])
    return rows


def test_show_offload_counts_flows_of_tracked_connections_and_names_states_that_stay_out(
    converged: Node,
) -> None:
    with_ovs(converged, TRACKED_FLOWS)
    row = offload(converged)["enp59s0f0_0"]
    assert (row["in NIC"], row["tracked in NIC"]) == ("3", "2 of 3")
    assert row["why not"] == "1 flow: it matches ct_state +new, which mlx5 does not offload"


def test_show_offload_tells_what_each_nic_holds(converged: Node) -> None:
    with_ovs(converged, TRACKED_FLOWS)
    converged.host.port("0000:3b:00.0").connections = 40
    converged.host.port("0000:3b:00.1").connections = 2
    assert nics(converged) == [
        {
            "nic": "0000:3b:00",
            "encap-mode": "basic",
            "flows in NIC": "4",
            "room for flows": "not told by the driver; OVS keeps 200000 per host",
            "tracked flows in NIC": "2",
            "connections in NIC": "42",
        }
    ]


def test_show_offload_counts_the_flows_of_two_nics_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card("3b"), card("af")]), monkeypatch)
    node.configure(devices=" ".join(port.netdev for port in node.host.network.ports()))
    node.converge()
    other = HIT.replace("enp59s0f0_0", "enp175s0f1_3")
    with_ovs(
        node, TRACKED_FLOWS + f"ufid:6, {other}, used:0.1s, offloaded:yes, dp:tc, actions:enp175s0f0_1\n"
    )
    assert [row["flows in NIC"] for row in nics(node)] == ["4", "1"]


def test_show_offload_says_what_an_old_driver_and_a_silent_vswitchd_do_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(kernel="5.15.0-119-generic"), monkeypatch)
    node.converge()
    with_ovs(node)
    node.host.answers[("ovs-appctl", "upcall/show")] = "system@ovs-system:\n"
    (row,) = nics(node)
    assert row["connections in NIC"] == "not told by the driver"
    assert row["room for flows"] == "not told by the driver; OVS keeps an unknown number per host"


def test_show_offload_names_encap_mode_none_where_tunnels_stay_out(converged: Node) -> None:
    converged.host.port("0000:3b:00.1").encap_mode = "none"
    why = offload(converged)["genev_sys_6081"]["why not"]
    assert "encap-mode of 0000:3b:00.1 is none (devlink: encap-mode basic)" in why
    assert nics(converged)[0]["encap-mode"] == "basic and none"


def test_show_offload_names_the_internal_port_on_an_old_kernel(converged: Node) -> None:
    converged.host.kernel = "5.15.0-48-generic"
    why = offload(converged)["genev_sys_6081"]["why not"]
    assert "the tunnel endpoint is on an OVS internal port" in why


def test_show_offload_knows_each_of_several_tunnel_endpoints(converged: Node) -> None:
    """OVN 24.03 takes several, of which the second one may be on the internal port."""
    several = OPEN_VSWITCH.replace("172.16.0.51", "172.17.0.51,172.16.0.51")
    converged.host.answers[("ovs-vsctl", "--format=json", "list", "Open_vSwitch")] = several
    test_show_offload_names_the_internal_port_on_an_old_kernel(converged)


def test_show_offload_names_hw_offload_that_is_off(converged: Node) -> None:
    converged.host.answers[("ovs-vsctl", "--format=json", "list", "Open_vSwitch")] = OPEN_VSWITCH.replace(
        "true", "false"
    )
    text = converged.action("show-offload")["offload"]
    assert "ovn-chassis option enable-hardware-offload" in text


def test_show_offload_without_open_vswitch_fails_in_one_sentence(node: Node) -> None:
    node.host.answers[("ovs-vsctl",)] = CommandError(["ovs-vsctl"], "ovs-vsctl is not installed")
    assert node.failure("show-offload") == "ovs-vsctl is not installed"


def test_show_offload_where_there_is_nothing(node: Node) -> None:
    with_ovs(node, flows="")
    assert (
        node.action("show-offload")["offload"]
        == "No representor and no datapath flow: nothing to offload yet."
    )


def test_approve_reboot_where_none_is_needed(converged: Node) -> None:
    assert "no reboot is needed" in converged.failure("approve-reboot")


def health(node: Node) -> tuple[str, list[dict[str, str]]]:
    results = node.action("show-health", format="json")
    return results["worst"], json.loads(results["health"])


def test_health_of_a_converged_node_has_nothing_to_say_but_that(converged: Node) -> None:
    for port in converged.host.cards[0].ports:
        port.growth = {"rx_packets_phy": 1000.0}
    worst, rows = health(converged)
    assert worst == "ok"
    assert [(row["state"], row["about"], row["found"]) for row in rows] == [
        ("ok", "configuration", "as declared"),
        ("ok", "reboot", "not needed"),
        ("ok", "0000:3b:00", "VF-LAG is active"),
        ("ok", "enp59s0f0np0", "link up, bond0 sends on it, no counter of a fault grew in 5 s"),
        ("ok", "enp59s0f1np1", "link up, bond0 sends on it, no counter of a fault grew in 5 s"),
        ("ok", "flows", "1 in the NIC, 2 not"),
    ]


def test_health_names_a_port_that_drops_frames_before_what_is_in_order(converged: Node) -> None:
    converged.host.port("enp59s0f1np1").growth = {"rx_discards_phy": 3.0}
    worst, rows = health(converged)
    assert worst == "warning"
    assert rows[0]["about"] == "enp59s0f1np1"
    assert rows[0]["found"] == "15 received frames were dropped: the port's buffer was full"
    assert [row["about"] for row in rows[1:] if row["state"] == "ok"] == [
        "configuration", "reboot", "0000:3b:00", "enp59s0f0np0", "flows",
    ]  # fmt: skip


def test_health_of_a_new_node_begins_with_what_it_waits_for(node: Node) -> None:
    node.set_up()
    worst, rows = health(with_ovs(node))
    assert (worst, rows[0]["state"]) == ("planned", "planned")
    found = {row["about"]: row for row in rows}
    assert found["reboot"]["found"] == "needed for 3b:00: 8+8 VFs and VF-LAG"
    assert "configuration" not in found


BEFORE_ITS_OPTIONS = [
    ("list-devices", "0000:3b:00.0"),
    ("plan", "install the boot copy"),
    ("verify", "0 of 8 VFs, eswitch in legacy mode"),
    ("capture", "ovn-offload-capture:"),
    ("show-offload", "ip is not installed"),
    ("show-health", "0 of 8 VFs, eswitch in legacy mode"),
    ("accept-nic", "nothing to accept: every declared port is there"),
    ("check-host", "SMT"),
    ("approve-reboot", "this unit has not run a hook since the host booted; try again in a minute"),
    ("cancel-reboots", "none"),
    ("release-reboot-lock", "no unit holds the reboot lock"),
]
"""Juju runs actions before config-changed."""


@pytest.mark.parametrize(("action", "says"), BEFORE_ITS_OPTIONS)
def test_a_unit_that_has_only_been_installed_answers_or_says_why_not(
    node: Node, action: str, says: str
) -> None:
    assert says in node.installed().said(action)
    assert node.host.trace == node.context.action_logs == []
    assert node.set_up().name == "blocked"
    assert "approve-reboot" in node.state.unit_status.message


def test_every_action_is_tried_on_a_unit_that_has_only_been_installed() -> None:
    assert {action for action, _ in BEFORE_ITS_OPTIONS} == METADATA["actions"].keys()
