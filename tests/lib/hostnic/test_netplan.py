# SPDX-License-Identifier: Apache-2.0
"""What netplan's files and its command say of VFs."""

import pytest
from hostnic import netplan
from hostnic.testing import FakeHost
from hypothesis import given
from hypothesis import strategies as st

MERGED = """network:
  version: 2
  ethernets:
    enp63s0f0:
      match:
        macaddress: "0c:42:a1:3b:00:00"
      mtu: 9000
      set-name: "enp63s0f0"
      virtual-function-count: 8
      embedded-switch-mode: "switchdev"
    enp63s0f1:
      match:
        macaddress: 0c:42:a1:3b:00:01
      dhcp4: false
  bonds:
    bond0:
      interfaces:
      - enp63s0f0
      - enp63s0f1
      parameters:
        mode: "802.3ad"
    bond1:
      interfaces: []
      openvswitch: {}
"""


def test_the_merged_definition() -> None:
    host = FakeHost()
    host.answers["netplan", "get"] = MERGED
    tree = netplan.merged(host)
    assert netplan.sriov_settings(tree) == {
        "enp63s0f0": {"virtual-function-count": "8", "embedded-switch-mode": "switchdev"}
    }
    assert host.trace == []


def test_no_configuration_has_no_settings() -> None:
    assert netplan.sriov_settings(netplan.merged(FakeHost())) == {}


@given(st.text() | st.lists(st.sampled_from(MERGED.splitlines())).map("\n".join))
def test_any_text_gives_a_tree(text: str) -> None:
    netplan.sriov_settings(netplan.parse(text))


@pytest.mark.parametrize(
    ("text", "owned"),
    [
        ("network:\n  version: 2\n  ethernets:\n    enp63s0f0:\n      virtual-function-count: 8\n", True),
        ("network: {version: 2, ethernets: {}}\n", True),
        ("# network:\n#   ethernets:\n", False),
        ("network:\n  version: 2\n", False),
        ("", False),
    ],
)
def test_ovn_chassis_owns_vfs_while_its_file_has_ethernets(text: str, owned: bool) -> None:
    host = FakeHost()
    host.files.install(netplan.OVN_CHASSIS_FILE, text.encode(), 0o600)
    assert netplan.owned_by_ovn_chassis(host) is owned


def test_without_its_file_ovn_chassis_owns_nothing() -> None:
    assert not netplan.owned_by_ovn_chassis(FakeHost())
