# SPDX-License-Identifier: Apache-2.0
"""Channels, rings, coalescing, RSS, private flags, pause frames and links: what a mode change loses."""

import re

import pytest

P0, PF = "enp59s0f0np0", "0000:3b:00.0"


def number(card, flag, name, netdev=P0):
    """The last value that ethtool shows under a name, which is the current one."""
    return re.findall(rf"^{name}:\s*(\S+)", card.run(["ethtool", flag, netdev]).stdout, re.MULTILINE)[-1]


def queues(card, netdev=P0):
    return sorted(card.run(f"ls /sys/class/net/{netdev}/queues").stdout.split())


def table(card):
    """The queues that the RSS table has."""
    rows = re.findall(r"^ +\d+:(.*)$", card.run(["ethtool", "-x", P0]).stdout, re.MULTILINE)
    return {int(queue) for row in rows for queue in row.split()}


def test_switchdev_leaves_one_channel_and_the_old_settings_are_gone(card):
    assert number(card, "-l", "Combined") == "2"
    assert queues(card) == ["rx-0", "rx-1", "tx-0", "tx-1"]
    card.run(f"ethtool -G {P0} rx 4000; ethtool -C {P0} rx-usecs 33; ethtool -X {P0} hfunc xor")
    card.run(f"ethtool --set-priv-flags {P0} rx_no_csum_complete on")
    assert (number(card, "-g", "RX"), number(card, "-c", "rx-usecs")) == ("4096", "33")
    card.set_mode("switchdev")
    assert number(card, "-l", "Combined") == "1"
    assert queues(card) == ["rx-0", "tx-0"]
    assert table(card) == {0}
    assert (number(card, "-g", "RX"), number(card, "-c", "rx-usecs")) == ("1024", "8")
    assert "toeplitz: on" in card.run(["ethtool", "-x", P0]).stdout
    flags = card.run(["ethtool", "--show-priv-flags", P0]).stdout
    assert re.search(r"rx_no_csum_complete *: off\n", flags)
    assert re.search(r"skb_tx_mpwqe *: off\n", flags)
    card.run(f"ethtool -L {P0} combined 2")
    assert (number(card, "-l", "Combined"), table(card)) == ("2", {0, 1})
    card.set_mode("switchdev")
    assert number(card, "-l", "Combined") == "2"
    card.set_mode("legacy")
    assert number(card, "-l", "Combined") == "2"


@pytest.mark.thorough
def test_a_table_that_was_set_stays_when_channels_come(card):
    card.run(f"ethtool -X {P0} weight 1 3")
    card.set_mode("switchdev")
    assert table(card) == {0}
    card.run(f"ethtool -L {P0} combined 2")
    assert table(card) == {0}
    card.run(f"ethtool -X {P0} default")
    assert table(card) == {0, 1}


@pytest.mark.thorough
def test_settings_that_are_refused(card):
    for arguments, words in [
        (["-L", P0, "combined", "0"], "Invalid argument"),
        (["-L", P0, "combined", "3"], "requested channel count exceeds maximum"),
        (["-G", P0, "tx", "8"], "Invalid argument"),
        (["-G", P0, "rx", "10000"], "exceeds maximum"),
        (["-C", P0, "rx-usecs", "5000"], "Numerical result out of range"),
        (["-A", P0, "autoneg", "on"], "Invalid argument"),
    ]:
        done = card.run(["ethtool", *arguments], check=False)
        assert done.returncode != 0
        assert words in done.stderr + done.stdout, arguments


@pytest.mark.thorough
def test_representors_have_one_channel_and_vfs_their_own(card):
    card.vfs(1, pfs=(PF,))
    card.set_mode("switchdev", pfs=(PF,))
    card.bind("0000:3b:00.2")
    representor = card.ports()["pf0vf0"]
    assert number(card, "-l", "Combined", representor) == "1"
    card.run(["ethtool", "-L", representor, "combined", "2"])
    assert queues(card, representor) == ["rx-0", "rx-1", "tx-0", "tx-1"]
    assert number(card, "-l", "Combined", card.vf_netdev("0000:3b:00.2")) == "2"


def test_global_pause_is_on_and_the_port_keeps_what_is_set(card):
    assert (number(card, "-a", "RX"), number(card, "-a", "TX")) == ("on", "on")
    card.run(f"ethtool -A {P0} rx off tx off")
    card.set_mode("switchdev")
    assert (number(card, "-a", "RX"), number(card, "-a", "TX")) == ("off", "off")
    card.run(
        f"echo {PF} >/sys/bus/pci/drivers/mlx5_core/unbind; echo {PF} >/sys/bus/pci/drivers/mlx5_core/bind"
    )
    card.run("udevadm settle")
    assert number(card, "-a", "RX") == "off"
    assert number(card, "-a", "RX", "enp59s0f1np1") == "on"


def carrier_changes(card):
    return int(card.run(f"cat /sys/class/net/{P0}/carrier_changes").stdout)


def test_the_link_is_trained_at_each_toggle(card):
    card.parameter("link_up_ms", "3000")
    carries = f"until [ $(cat /sys/class/net/{P0}/carrier) = 1 ]; do sleep 0.1; done"
    uptime = "cut -d' ' -f1 /proc/uptime"
    began, ended = card.run(f"{uptime}; ip link set {P0} up; {carries}; {uptime}").stdout.split()
    assert float(ended) - float(began) >= 2.9
    before = carrier_changes(card)
    card.set_mode("switchdev")
    card.await_output(f"cat /sys/class/net/{P0}/carrier_changes", str(before + 2))
    # More channels are set under the running link.
    assert card.run(f"ethtool -L {P0} combined 2; cat /sys/class/net/{P0}/carrier").stdout == "1\n"


@pytest.mark.thorough
def test_a_mode_change_of_a_closed_uplink_leaves_it_closed(card):
    card.set_mode("switchdev")
    assert "DOWN" in card.run(f"ip -br link show {P0}").stdout


def test_a_vf_in_switchdev_mode_has_the_link_that_its_representor_gives_it(card):
    card.vfs(1, pfs=(PF,))
    card.set_mode("switchdev", pfs=(PF,))
    card.bind("0000:3b:00.2")
    netdev, representor = card.vf_netdev("0000:3b:00.2"), card.ports()["pf0vf0"]
    carrier = f"cat /sys/class/net/{netdev}/carrier"
    assert card.run(f"ip link set {netdev} up; {carrier}").stdout == "0\n"
    assert card.run(f"ip link set {representor} up; {carrier}").stdout == "1\n"
    assert card.run(f"ip link set {representor} down; {carrier}").stdout == "0\n"


@pytest.mark.thorough
def test_a_vf_in_legacy_mode_has_the_link_of_the_port(card):
    card.vfs(1, pfs=(PF,), bound=True)
    netdev = card.vf_netdev("0000:3b:00.2")
    card.run(f"ip link set {netdev} up")
    card.await_output(f"cat /sys/class/net/{netdev}/carrier", "1")
    card.fault("link_down", "Y")
    card.await_output(f"cat /sys/class/net/{netdev}/carrier", "0")
