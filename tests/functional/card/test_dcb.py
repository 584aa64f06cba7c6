# SPDX-License-Identifier: Apache-2.0
"""DCB of the uplink with mlx5's semantics, through iproute2's dcb and the kernel's own answers."""

import re

import pytest

P0 = "enp59s0f0np0"
PF = "0000:3b:00.0"
FAULT = f"/sys/kernel/debug/vcx/{PF}/dcb_fault"
NO_BUFFER_NO_MAXRATE, NO_OPS, REFUSE = 1, 2, 3

ROCE_ETS = [
    "tc-tsa", "0:ets", "1:strict", "2:strict", "3:ets", "4:strict", "5:strict", "6:strict", "7:strict",
    "tc-bw", "0:50", "1:0", "2:0", "3:50", "4:0", "5:0", "6:0", "7:0",
    "prio-tc", "0:0", "1:1",
]  # fmt: skip


def dcb(card, what, verb, *arguments, check=True):
    """Run iproute2's dcb; a few times more when the clock's second changed between its two requests.

    iproute2 6.1 numbers its requests by the second and takes the first one's late acknowledgement for a
    breach of the protocol.
    """
    command = ["dcb", what, verb, "dev", P0, *arguments]
    for _ in range(5):
        done = card.run(command, check=False)
        if "Protocol error" not in done.stderr:
            break
    assert done.returncode == 0 or not check, done.stderr
    return done


def show(card, what, field):
    """A line of ``dcb <what> show`` as {key: value}: "prio-tc 0:1 1:0" is {"0": "1", "1": "0"}."""
    for line in dcb(card, what, "show").stdout.splitlines():
        name, _, rest = line.partition(" ")
        if name == field:
            return dict(word.split(":") for word in rest.split())
    return {}


def number(card, what, field):
    return int(re.search(rf"\b{field} (\d+)", dcb(card, what, "show").stdout)[1])


def apps(card):
    """The DSCP map, by number: {26: 3}."""
    words = dcb(card, "app", "show", "-N").stdout.partition("dscp-prio")[2].split()
    return {int(dscp): int(prio) for dscp, prio in (word.split(":") for word in words)}


@pytest.fixture
def up(card):
    """The card with its first uplink up and its carrier on."""
    card.run(f"ip link set {P0} up")
    card.await_output(f"cat /sys/class/net/{P0}/carrier", "1")
    return card


def test_as_the_driver_starts_it(card):
    assert set(show(card, "ets", "tc-tsa").values()) == {"vendor"}
    assert set(show(card, "ets", "tc-bw").values()) == {"100"}
    assert show(card, "ets", "prio-tc") == {str(p): str(t) for p, t in enumerate([1, 0, 2, 3, 4, 5, 6, 7])}
    assert set(show(card, "pfc", "prio-pfc").values()) == {"off"}
    assert number(card, "pfc", "delay") == 7
    assert apps(card) == {}
    assert dcb(card, "dcbx", "show").stdout.split() == ["host", "cee", "ieee"]
    assert set(show(card, "maxrate", "tc-maxrate").values()) == {"0bit"}


@pytest.mark.thorough
def test_only_the_uplink_has_dcb(card):
    card.vfs(1, pfs=(PF,), bound=True)
    done = card.run(["dcb", "pfc", "show", "dev", card.vf_netdev("0000:3b:00.2")], check=False)
    assert "Operation not supported" in done.stderr + done.stdout


def test_ets_is_read_back_as_set_but_for_the_bandwidth_of_classes_without_a_share(card):
    dcb(card, "ets", "set", *ROCE_ETS)
    assert show(card, "ets", "tc-tsa")["0"] == show(card, "ets", "tc-tsa")["3"] == "ets"
    assert show(card, "ets", "tc-bw") == {str(tc): "50" if tc in (0, 3) else "100" for tc in range(8)}
    assert show(card, "ets", "prio-tc") == {str(tc): str(tc) for tc in range(8)}


@pytest.mark.thorough
def test_the_credit_based_shaper_is_refused(card):
    # dcb itself adds up what it read, and wants 0 where no class has ets; the driver told 100 of each.
    dcb(card, "ets", "set", "tc-tsa", "1:cbs", "tc-bw", "all:0", check=False)
    assert "CB Shaper is not supported" in card.log()
    assert show(card, "ets", "tc-tsa")["1"] == "vendor"


def test_the_first_dscp_entry_turns_trust_and_the_list_is_ours_alone(card):
    dcb(card, "app", "add", "dscp-prio", "26:3", "48:6")
    assert apps(card) == {26: 3, 48: 6}
    dcb(card, "app", "replace", "dscp-prio", "26:5")
    assert apps(card) == {26: 5, 48: 6}
    dcb(card, "app", "flush", "dscp-prio")
    assert apps(card) == {}


@pytest.mark.thorough
def test_only_dscp_is_mapped(card):
    dcb(card, "app", "add", "ethtype-prio", "0x8915:3", check=False)
    assert "8915" not in dcb(card, "app", "show").stdout


def test_a_changed_pfc_mask_bounces_the_link_and_an_unchanged_one_does_not(up):
    changes = f"cat /sys/class/net/{P0}/carrier_changes"
    before = int(up.run(changes).stdout)
    dcb(up, "pfc", "set", "prio-pfc", "3:on")
    up.await_output(changes, str(before + 2))
    assert show(up, "pfc", "prio-pfc") == {str(prio): "on" if prio == 3 else "off" for prio in range(8)}
    dcb(up, "pfc", "set", "prio-pfc", "3:on", "delay", "20")
    up.run("sleep 1")
    assert int(up.run(changes).stdout) == before + 2
    assert number(up, "pfc", "delay") == 20


@pytest.mark.thorough
def test_a_lossless_priority_has_a_buffer_of_its_own(card):
    assert show(card, "buffer", "prio-buffer")["3"] == "0"
    dcb(card, "pfc", "set", "prio-pfc", "3:on")
    assert show(card, "buffer", "prio-buffer")["3"] == "1"
    dcb(card, "buffer", "set", "buffer-size", "0:20000", "1:100000")
    assert show(card, "buffer", "buffer-size")["1"] == "100000b"
    dcb(card, "buffer", "set", "buffer-size", "0:9000000", check=False)
    assert show(card, "buffer", "buffer-size")["0"] == "20000b"


@pytest.mark.thorough
def test_dcbx_goes_to_the_firmware_and_back(card):
    dcb(card, "dcbx", "set", "host", "ieee")
    assert dcb(card, "dcbx", "show").stdout.split() == ["host", "ieee"]
    dcb(card, "dcbx", "set", "lld-managed", check=False)
    assert dcb(card, "dcbx", "show").stdout.split() == ["host", "ieee"]


def test_a_change_of_the_eswitch_mode_starts_afresh_but_for_what_the_port_keeps(card):
    dcb(card, "ets", "set", *ROCE_ETS)
    dcb(card, "app", "add", "dscp-prio", "26:5")
    dcb(card, "pfc", "set", "prio-pfc", "3:on", "delay", "20")
    card.set_mode("switchdev", pfs=(PF,))
    assert set(show(card, "ets", "tc-tsa").values()) == {"vendor"}
    assert number(card, "pfc", "delay") == 7
    assert show(card, "pfc", "prio-pfc")["3"] == "on"
    assert apps(card) == {dscp: 5 if dscp == 26 else dscp >> 3 for dscp in range(64)}


@pytest.mark.parametrize(
    ("fault", "answer"), [(NO_OPS, "not supported"), pytest.param(REFUSE, "", marks=pytest.mark.thorough)]
)
def test_a_card_without_dcb_or_one_that_refuses(card, fault, answer):
    card.write(FAULT, fault)
    done = dcb(card, "pfc", "set", "prio-pfc", "3:on", check=False)
    assert answer in done.stderr + done.stdout
    card.write(FAULT, 0)
    assert show(card, "pfc", "prio-pfc")["3"] == "off"


@pytest.mark.thorough
def test_a_card_without_buffers_and_rates_has_the_rest(card):
    card.write(FAULT, NO_BUFFER_NO_MAXRATE)
    assert "not found" in dcb(card, "buffer", "show", check=False).stderr
    dcb(card, "pfc", "set", "prio-pfc", "3:on")
    assert show(card, "pfc", "prio-pfc")["3"] == "on"
