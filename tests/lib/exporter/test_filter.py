# SPDX-License-Identifier: Apache-2.0
"""The filter for node_exporter that the documents ship, against names of netdevs."""

import re
from pathlib import Path

import pytest
import yaml
from hostnic.devices.port import REPRESENTOR_NAME
from lab.modelled import FakeHost, card

PAGE = (Path(__file__).parents[3] / "docs/how-to/filter-representors.md").read_text()
(PATTERN,) = re.findall(r"```text\n(.+)\n```", PAGE)
BLOCKS = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)]


def drops(name: str) -> bool:
    return re.fullmatch(PATTERN, name) is not None


@pytest.mark.parametrize("mode", ["legacy", "switchdev"])
def test_of_the_modelled_host_ports_bonds_and_bridges_stay(mode: str) -> None:
    host = FakeHost([card("3b", total_vfs=127)])
    for port in host.network.ports():
        directory = f"/sys/bus/pci/devices/{port.bdf}"
        host.files.write(f"{directory}/sriov_drivers_autoprobe", "1" if mode == "legacy" else "0")
        host.files.write(f"{directory}/sriov_numvfs", "127")
        if mode == "switchdev":
            host.devlink.set_eswitch_mode(port.bdf, "switchdev")
    host.sleep(30)
    links = host.links.all()
    dropped = {link.name for link in links if drops(link.name)}
    assert {link.name for link in links} - dropped == {"enp59s0f0np0", "enp59s0f1np1", "bond0", "br-nvda"}
    assert len(dropped) == 254
    if mode == "switchdev":
        assert all(REPRESENTOR_NAME.fullmatch(link.port_name or "") for link in links if drops(link.name))


@pytest.mark.parametrize(
    "name",
    [
        "enp59s0f0npf0vf3",
        "enp59s0f1npf1vf126",
        "enp59s0f0nc1pf0vf3",
        "enp59s0f0npf0sf88",
        "enp59s0f0r3",
        "enp59s0f1r126",
        "enp59s0f0_3",
        "eth2_17",
        "enp59s0f0v12",
        "ens3f0v0",
        "ibp1s0v3",
    ],
)
def test_representors_and_vfs_are_dropped(name: str) -> None:
    assert drops(name)


def test_with_the_kernels_names_too_it_still_drops_no_port() -> None:
    assert "`(…|eth[0-9]+)`" in PAGE
    wider = f"^({PATTERN[1:-1]}|eth[0-9]+)$"
    assert all(re.fullmatch(wider, name) for name in ("eth3", "eth253", "enp59s0f0r3"))
    assert not any(re.fullmatch(wider, name) for name in ("enp59s0f0np0", "eth2np0", "bond0", "br-int"))


@pytest.mark.parametrize(
    "name",
    [
        "enp59s0f0np0",
        "ens3f1np1",
        "enp59s0f0np0.3000",
        "eno1",
        "eno49np0",
        "eth0",
        "lo",
        "bond0",
        "bond0.100",
        "br-int",
        "br-ex",
        "ovs-system",
        "genev_sys_6081",
        "vxlan_sys_4789",
        "tap0b1c2d3e-4f",
        "virbr0",
        "lxdbr0",
        "vlan100",
        "ibp1s0",
        "docker0",
        "veth0a1b2c3",
    ],
)
def test_others_stay(name: str) -> None:
    assert not drops(name)


def test_each_place_has_this_pattern() -> None:
    options = re.findall(r"^    --collector\.\S+='(.+)'$", PAGE, re.MULTILINE)
    assert options == [PATTERN, PATTERN]
    collector, prometheus = BLOCKS
    (condition,) = collector["filter/representors"]["metrics"]["datapoint"]
    assert f'IsMatch(attributes["device"], "{PATTERN}")' in condition
    (rule,) = prometheus["metric_relabel_configs"]
    name, _, device = rule["regex"].partition(";")  # Prometheus joins the labels with it, and fits the whole
    assert f"^{device}$" == PATTERN
    assert re.fullmatch(name, "node_network_receive_bytes_total")
