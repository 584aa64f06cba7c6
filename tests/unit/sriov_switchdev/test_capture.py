# SPDX-License-Identifier: Apache-2.0
"""The action capture: replayed, it shows what the host's own actions show; it has no secret of the host."""

from collections.abc import Callable
from dataclasses import asdict

import capture
import pytest
from config import Options
from hostnic.capture import reduce
from hostnic.capture.file import read, take
from lab.modelled import FakeHost
from unit.canaries import WORD, Canaries, leaks
from unit.sriov_switchdev.node import PF0, PF1, Node, compute_node, declare_bond

NETPLAN = (
    b"network:\n  ethernets:\n    enp59s0f0np0:\n      virtual-function-count: 4\n  wifis: {password: x}\n"
)


def fresh(node: Node) -> None:
    """As MAAS leaves it."""


def converged(node: Node) -> None:
    node.set_up()
    node.emit()
    node.host.reboot()
    node.emit("start")


def in_use(node: Node) -> None:
    node.host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_numvfs", "8")
    node.host.start_instance("0000:3b:00.2")
    node.host.start_vdpa_instance("0000:3b:00.3", "instance-0000002b")
    node.host.move_to_netns("0000:3b:00.4")


def second_writer(node: Node) -> None:
    node.host.disk.install("/etc/netplan/60-vfs.yaml", NETPLAN, 0o600)
    node.host.disk.install("/etc/netplan/61-broken.yaml", b"a: b\nlink: [\n\x01", 0o600)


def networkmanager(node: Node) -> None:
    text = b"[connection]\ninterface-name=enp59s0f0np0\n[sriov]\ntotal-vfs=4\n[802-1x]\npassword=x\n"
    node.host.disk.install("/etc/NetworkManager/system-connections/pf.nmconnection", text, 0o600)


ASSIGN = 'ATTR{device/sriov_numvfs}="4"'
LOOP = "for d in /sys/{}; do\n  echo 4 > $d/device/sriov_numvfs\ndone\n"
OTHERS = {
    "/etc/udev/rules.d/90-ice.rules": f'DRIVERS!="ice", GOTO="end"\n{ASSIGN}\nLABEL="end"\n',
    "/etc/rc.local": LOOP.format("bus/pci/drivers/ice/0000:*"),
    "/etc/network/interfaces": "iface eno1 inet dhcp\n  pre-up /opt/vfs\niface enp59s0f0np0 inet manual\n",
    "/opt/vfs": "echo 4 > /sys/class/net/$IFACE/device/sriov_numvfs\n",
}
"""Loops, labels and stanzas that leave our ports out."""
OURS = {
    "/etc/udev/rules.d/90-mlx.rules": f'DRIVERS!="mlx5_core", GOTO="end"\n{ASSIGN}\nLABEL="end"\n',
    "/etc/cron.d/vfs": "@reboot root /opt/all-vfs password=x\n",
    "/opt/all-vfs": LOOP.format("class/net/*"),
    "/etc/systemd/system/vfs.service": "[Service]\nEnvironmentFile=/etc/default/vfs\nExecStart=/opt/one-vf\n",
    "/etc/systemd/system/multi-user.target.wants/vfs.service": "",
    "/etc/default/vfs": "PORT=enp59s0f0np0\nPASSWORD=x\n",
    "/opt/one-vf": "echo 4 > /sys/class/net/$PORT/device/sriov_numvfs\n",
    "/etc/driverctl.d/pci-0000:3b:00.0": "vfio-pci\n",
    "/etc/sriov-operator/pci/0000:3b:00.0": '{"numVfs": 8, "externallyManaged": true}',
    "/etc/sriov-netplan-shim/interfaces.yaml": "interfaces: {\n",
    "/etc/systemd/system/multi-user.target.wants/sriov-netplan-shim.service": "",
    "/etc/systemd/system/sriov-netplan-shim.service": "[Service]\nExecStart=/usr/bin/shim\n",
}


def scripts_for_others(node: Node) -> None:
    for path, text in OTHERS.items():
        node.host.disk.install(path, text.encode(), 0o600)


def scripts(node: Node) -> None:
    for path, text in (OTHERS | OURS).items():
        node.host.disk.install(path, text.encode(), 0o600)


def without_debugfs(node: Node) -> None:
    converged(node)
    node.host.lag_debugfs = False


def unreadable(node: Node) -> None:
    node.host.fail("read", f"{PF1}/sriov_totalvfs", OSError(5, "Input/output error"), times=None)


def detached(node: Node) -> None:
    converged(node)
    declare_bond(node.host)
    node.host.links.set_master(node.host.port(PF1).netdev, None)


WRITERS = [second_writer, networkmanager, scripts_for_others, scripts]
STATES = [fresh, converged, in_use, *WRITERS, without_debugfs, unreadable, detached]


def own(node: Node) -> dict[str, list[str]]:
    """The words of the host's own actions, with the stand-ins of the instances: lines wrap differently."""
    shown = {
        "list-devices": node.action("list-devices")["devices"],
        "check-host": node.action("check-host")["host"],
        "plan": node.action("plan")["plan"],
        "verify": node.action("verify")["findings"],
    }
    names = {"instance-0000002a": "instance001", "instance-0000002b": "instance002"}
    for name, stand_in in names.items():
        shown = {action: text.replace(name, stand_in) for action, text in shown.items()}
    return {action: sorted(text.split()) for action, text in shown.items()}


@pytest.mark.parametrize("state", STATES)
def test_a_replay_shows_what_the_host_shows(node: Node, state: Callable[[Node], None]) -> None:
    state(node)
    expected = own(node)
    taken = node.action("capture")["capture"]
    assert node.writes == []
    found = read(taken)
    assert found.charm == "sriov-switchdev"
    shown = capture.show(found.system, found.inputs).tables
    assert {action: sorted(text.split()) for action, text in shown.items()} == expected


def test_a_capture_of_a_large_host_stays_small(node: Node) -> None:
    node.configure(devices=f"{PF0}:127 {PF1}:127")
    for port in node.host.network.ports():
        port.total_vfs = port.firmware.num_of_vfs = port.firmware.next_num_of_vfs = 127
        node.host.files.write(f"/sys/bus/pci/devices/{port.bdf}/sriov_numvfs", "127")
    assert len(node.action("capture")["capture"]) < 60_000  # Juju passes it as one argument, 128 KiB at most


def test_the_secrets_are_found_where_a_capture_keeps_everything(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The opposite of the tests above: they can fail."""
    monkeypatch.setattr(reduce, "RULES", ((".*", reduce.whole),))
    in_use(node)
    inputs = {"options": asdict(Options()), "controllers": (), "application": "sriov-switchdev"}
    places, found = leaks(node.host, lambda: take(node.host, "x", inputs, capture.show))
    written = [place for place in places if not place.startswith(("/sys/", "/proc/"))]
    assert written
    assert {place: WORD in found[place] for place in written} == dict.fromkeys(written, True)


@pytest.fixture
def host(request: pytest.FixtureRequest) -> FakeHost:
    """A host that can hand out secrets."""
    return compute_node(kind=Canaries) if "secret" in request.node.name else compute_node()


@pytest.mark.parametrize("state", [in_use, *WRITERS, without_debugfs, detached])
def test_no_secret_is_in_a_capture(node: Node, state: Callable[[Node], None]) -> None:
    state(node)
    places, found = leaks(node.host, lambda: node.action("capture")["capture"])
    assert found == {}
    assert len(places) >= 10, places
