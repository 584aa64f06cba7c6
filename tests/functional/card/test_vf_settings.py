# SPDX-License-Identifier: Apache-2.0
"""An administrator's settings of a VF through its PF, as libvirt makes them before an instance gets it."""

import json

import pytest

pytestmark = pytest.mark.thorough

PF, UPLINK, VF = "0000:3b:00.0", "enp59s0f0np0", "0000:3b:00.2"
MAC, NONE = "fa:16:3e:12:34:56", "00:00:00:00:00:00"


def shown(card):
    """Return the PF's VFs as `ip` shows them, in order."""
    (link,) = json.loads(card.run(["ip", "-j", "link", "show", UPLINK]).stdout)
    return link["vfinfo_list"]


def settings(card):
    """The VFs' addresses."""
    return [vf["address"] for vf in shown(card)]


def rates(card):
    """The VFs' minimum and maximum, in Mb/s."""
    return [(vf["rate"]["min_tx"], vf["rate"]["max_tx"]) for vf in shown(card)]


def refused(card, netdev, words):
    """Return the kernel's refusal."""
    done = card.run(f"ip link set {netdev} {words}", check=False)
    assert done.returncode != 0
    return done.stderr


def test_a_vf_has_the_address_that_was_set_through_its_pf_until_the_vfs_end(card):
    card.vfs(2, pfs=card.pfs[:1])
    assert settings(card) == [NONE, NONE]
    card.run(f"ip link set {UPLINK} vf 0 mac {MAC}")
    assert settings(card) == [MAC, NONE]
    card.set_mode("switchdev", pfs=card.pfs[:1])
    assert settings(card) == [MAC, NONE]
    for _ in range(2):
        card.bind(VF)
        assert card.run(f"cat /sys/class/net/{card.vf_netdev(VF)}/address").stdout == f"{MAC}\n"
        card.write(f"/sys/bus/pci/devices/{VF}/driver/unbind", VF)
    card.write(f"/sys/bus/pci/devices/{PF}/sriov_numvfs", 0)
    card.vfs(2, pfs=card.pfs[:1])
    assert settings(card) == [NONE, NONE]


def test_vlan_0_is_accepted_for_libvirt_and_every_other_is_refused(card):
    card.vfs(1, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.run(f"ip link set {UPLINK} vf 0 vlan 0")
    assert "Operation not supported" in refused(card, UPLINK, "vf 0 vlan 5")
    assert "Protocol not supported" in refused(card, UPLINK, "vf 0 vlan 5 proto 802.1ad")


def test_rates_are_kept_until_the_mode_changes_or_the_vfs_end(card):
    card.vfs(2, pfs=card.pfs[:1])
    assert rates(card) == [(0, 0), (0, 0)]
    limit = f"ip link set {UPLINK} vf 1 min_tx_rate 3 max_tx_rate 7"
    for mode in ("switchdev", "legacy"):
        card.run(limit)
        assert rates(card) == [(0, 0), (3, 7)]
        card.set_mode(mode, pfs=card.pfs[:1])
        assert rates(card) == [(0, 0), (0, 0)]
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.run(f"{limit}; ip link set {UPLINK} vf 1 rate 0")
    assert rates(card) == [(0, 0), (3, 0)]
    card.write(f"/sys/bus/pci/devices/{PF}/sriov_numvfs", 0)
    card.vfs(2, pfs=card.pfs[:1])
    assert rates(card) == [(0, 0), (0, 0)]


def test_a_vf_that_the_pf_cannot_have_and_a_group_address_are_invalid(card):
    card.vfs(1, pfs=card.pfs[:1])
    card.run(f"ip link set {UPLINK} vf 7 mac {MAC}")  # the PF can have 8, whether or not they exist
    assert "Invalid argument" in refused(card, UPLINK, f"vf 8 mac {MAC}")
    assert "Invalid argument" in refused(card, UPLINK, "vf 0 mac 01:00:5e:00:00:01")
    assert settings(card) == [NONE]


def test_only_the_uplink_takes_settings_of_vfs(card):
    card.vfs(1, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    representor = card.ports()["pf0vf0"]
    assert "Operation not supported" in refused(card, representor, f"vf 0 mac {MAC}")
    assert settings(card) == [NONE]
