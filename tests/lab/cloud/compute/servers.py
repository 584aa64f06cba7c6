# SPDX-License-Identifier: Apache-2.0
"""A server as a network namespace with the devices that its domain names: VFs, and ports of Open vSwitch.

Each device gets its address by DHCP, as cloud-init would have it.
"""

import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

DEVICES = Path("/sys/bus/pci/devices")
DRIVER = Path("/sys/bus/pci/drivers/mlx5_core")
SCRIPT = Path(__file__).with_name("udhcpc.sh")
APPEARS = 60
"""Seconds within which a VF's netdev must be there after its driver was bound."""


class Interface(NamedTuple):
    """One of a domain's.

    Attributes:
        mac: its address.
        vf: PCI address of the VF; "" for a port of Open vSwitch.
        target: name of the port in the bridge; "" for a VF.
        mtu: of the port; a VF's is told by DHCP alone.

    """

    mac: str
    vf: str = ""
    target: str = ""
    mtu: str = "1500"


def without_interfaces(domain: str) -> tuple[str, list[Interface]]:
    """The domain's XML without its network interfaces, and these."""
    root = ElementTree.fromstring(domain)
    devices = root.find("devices")
    found: list[Interface] = []
    for each in [] if devices is None else devices.findall("interface"):
        mac, address = each.find("mac"), each.find("source/address")
        target = each.find("target")
        given = "" if mac is None else mac.get("address", "")
        if each.get("type") == "hostdev" and address is not None:
            numbers = [int(address.get(key, "0"), 16) for key in ("domain", "bus", "slot", "function")]
            found.append(Interface(given, vf="{:04x}:{:02x}:{:02x}.{:x}".format(*numbers)))
        elif target is not None:
            mtu = each.find("mtu")
            size = "1500" if mtu is None else mtu.get("size", "1500")
            found.append(Interface(given, target=target.get("dev", ""), mtu=size))
        else:
            raise ValueError(f"an interface of type {each.get('type')} without a target cannot be a device")
        devices.remove(each)  # type: ignore[union-attr]
    return ElementTree.tostring(root, encoding="unicode"), found


def start(name: str, interfaces: list[Interface]) -> None:
    """Make the namespace with its devices, and ask for their addresses."""
    _run("ip", "netns", "add", name)
    _run("ip", "-n", name, "link", "set", "lo", "up")
    for number, each in enumerate(interfaces):
        inside = f"ens{3 + number}"
        if each.vf:
            _bind_with_address(each)
            _move(each.vf, name, inside)
        else:
            _port(name, inside, each)
        _run("ip", "-n", name, "link", "set", inside, "up")
        client = ["udhcpc", "-b", "-S", "-i", inside, "-s", str(SCRIPT), "-O", "mtu", "-t", "20", "-T", "3"]
        log = Path(f"/var/log/cloud/{name}-{inside}.log")
        with log.open("wb") as out:
            subprocess.Popen(
                ["ip", "netns", "exec", name, *client, "-p", f"/run/{name}-{inside}.pid"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip


def stop(name: str, interfaces: list[Interface]) -> None:
    """End the server; its VFs are the host's again, without its addresses. Nothing happens if it is gone."""
    if name not in _run("ip", "netns", "list").split():
        return
    for process in _run("ip", "netns", "pids", name).split():
        subprocess.run(["kill", process], check=False)
    for each in interfaces:
        if each.vf:
            _bind_with_address(each._replace(mac="00:00:00:00:00:00"))
    _run("ip", "netns", "del", name)


def _bind_with_address(vf: Interface) -> None:
    """Set the server's address through the PF, as libvirt does, and bind the VF's driver anew."""
    pf, index = _place(vf.vf)
    device = DEVICES / vf.vf
    if (device / "driver").exists():
        (device / "driver/unbind").write_text(vf.vf)
    _run("ip", "link", "set", pf, "vf", str(index), "mac", vf.mac, "vlan", "0")
    (DRIVER / "bind").write_text(vf.vf)


def _move(vf: str, name: str, inside: str) -> None:
    """Give the VF's netdev to the namespace, as soon as it is there."""
    limit = time.monotonic() + APPEARS
    while True:
        for netdev in (path.name for path in (DEVICES / vf / "net").glob("*")):
            command = ["ip", "link", "set", netdev, "netns", name, "name", inside]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return
        if time.monotonic() > limit:
            raise RuntimeError(f"{vf} has no netdev {APPEARS} s after mlx5_core was bound to it")
        time.sleep(0.5)


def _place(vf: str) -> tuple[str, int]:
    """The netdev of a VF's PF, and the VF's number there."""
    physical = (DEVICES / vf / "physfn").resolve()
    for path in (physical / "net").iterdir():
        # A PF in switchdev mode has its representors beside it.
        if (path / "phys_port_name").read_text().strip() in ("p0", "p1"):
            for link in physical.glob("virtfn*"):
                if link.resolve().name == vf:
                    return path.name, int(link.name.removeprefix("virtfn"))
    raise RuntimeError(f"the PF of {vf} has no netdev")


def _port(name: str, inside: str, each: Interface) -> None:
    """The netdev of a port that os-vif has put into br-int, and its other end in the namespace."""
    _run("ip", "link", "add", each.target, "type", "veth", "peer", "name", inside, "netns", name)
    _run("ip", "-n", name, "link", "set", inside, "address", each.mac, "mtu", each.mtu)
    _run("ip", "link", "set", each.target, "mtu", each.mtu, "up")


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
