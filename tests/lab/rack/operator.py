# SPDX-License-Identifier: Apache-2.0
"""The acceptance tool on a rack with an OpenStack, as an operator runs it."""

import contextlib
import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from acceptance.__main__ import Around, main
from acceptance.asking import asking
from acceptance.cloud import Cloud as Door
from acceptance.measure.ladder import RUNGS

from lab.cloud import disk
from lab.cloud.cloud import Cloud
from lab.patience import Patience
from lab.rack.build import Rack
from lab.rack.hands import Hands, Place

AREA = "OpenStack"
"""Of the scenario's checks."""
MEASURES = {
    "host": ("tcp-1", "tcp-8"),
    "virtio": ("tcp-1", "tcp-8"),
    "vf": ("tcp-1", "tcp-8"),
    "vf-group": ("tcp-1",),
    "vf-vlan": ("tcp-1",),
    "north-south": ("tcp-1",),
}
"""The measurements of each rung. RDMA does not run in a namespace of its own: scenario acceptance has it."""
WHOLE = "a figure and the host's CPU for each measurement"
"""The wanted result of each rung."""
SUBSTITUTED = (
    "A server that is measured is a network namespace on its node: Nova schedules it, Neutron wires it, "
    "os-vif plugs it and libvirt defines its domain, but instead of starting QEMU the lab's own subclass of "
    "LibvirtDriver gives the VF's netdev to a namespace with a DHCP client.",
    "What such a server uses counts among the CPUs of its host; a guest's would not.",
    "ssh to a floating IP is a shell in that namespace, and Juju's commands are answered by the rack.",
    "The kernel forwards in place of the virtual NIC, which counts on representors and uplinks the packets "
    "that a NIC with its rules would not have kept from the kernel. A capture would show all of them: the "
    "nodes have no tcpdump.",
    "RDMA, UDP and 32 pairs are left out; the processors are emulated, so that the figures say that it "
    "works, not how fast a NIC is.",
)
UNTRACKED = (
    "Flows of tracked connections stay out of the NIC, since the nodes' kernel is built without "
    "CONFIG_NET_TC_SKB_EXT: the rungs with a stateful security group and with a floating IP fail for that."
)
"""Of nodes with Debian's kernel, besides these."""
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGz2m1t5VQW0c1wEo1Qb8nqv6c0q3q6w4fVt0m0X9d1K"
SITE = {"flavor": {"name": "m1.packet", "ram": 512, "disk": 1, "vcpus": 2}, "seconds": 120}
"""Long enough for ten thousand packets of one pair, without which the tool shows nothing. Over a floating IP
that pair sent 6,135 in a minute, on a machine half as fast as that of example.json."""


class GuestTime:
    """Time that passes only as far as the guests could use it."""

    def __init__(self, rack: Rack) -> None:
        self._patience = Patience(float("inf"), rack.floor.processes)

    def time(self) -> float:
        self._patience.over()
        return self._patience.spent

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Operator:
    """The acceptance tool, and what an operator has beside it."""

    def __init__(self, rack: Rack, cloud: Cloud, folder: Path) -> None:
        self.rack, self.cloud, self.folder = rack, cloud, folder
        self.connection = cloud.connect()
        self.nodes = list(rack.nodes)[:2]
        self.state = folder / "ovn-offload/acceptance/rack"
        site = {**SITE, "nodes": self.nodes, "image-file": str(folder / "image")}
        site["public-key"] = str(folder / "id.pub")
        (folder / "id.pub").write_text(f"{KEY}\n")
        (folder / "site.yaml").write_text(yaml.safe_dump(site))
        disk.make(folder / "image")
        self.around = Around(
            connect=lambda *_: self.connection,
            process=Hands(rack, self._place),
            clock=GuestTime(rack),
            rungs=tuple(rung._replace(measures=MEASURES[rung.key]) for rung in RUNGS if rung.key in MEASURES),
            substituted=SUBSTITUTED,
        )

    def run(self, verb: str, *options: str) -> tuple[int, str]:
        """A verb's exit status, and what it printed, which is shown as it comes."""
        said = Lines(self.rack.display.say)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main(
                [verb, "--cloud", "rack", "--site", str(self.folder / "site.yaml"), *options], self.around
            )
        return status, said.getvalue()

    def report(self) -> dict[str, Any] | None:
        """The last measurement, as `report --json` prints it; None if there is none."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main(["report", "--cloud", "rack", "--json"], self.around)
        return json.loads(out.getvalue()) if out.getvalue() else None

    def door(self) -> Door:
        """Return the cloud's objects of now."""
        found = Door(self.connection)
        found.observe()
        return found

    def _place(self, address: str) -> Place:
        with asking(f"floating IP {address}"):
            (floating,) = self.connection.network.ips(floating_ip_address=address)
            port = self.connection.network.get_port(floating.port_id)
            server = self.connection.compute.get_server(port.device_id)
        return server.compute_host, server.instance_name


class Lines(io.StringIO):
    """Keeps all that is printed, and hands on each line that is complete."""

    def __init__(self, hear: Callable[[str], object]) -> None:
        super().__init__()
        self._hear, self._rest = hear, ""

    def write(self, text: str) -> int:
        written = super().write(text)
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._hear(line)
        return written


@contextlib.contextmanager
def operator(rack: Rack, cloud: Cloud) -> Iterator[Operator]:
    """Somebody with a folder of their own, where the tool keeps its state."""
    with tempfile.TemporaryDirectory(prefix="ovn-lab-") as folder:
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = folder
        try:
            yield Operator(rack, cloud, Path(folder))
        finally:
            del os.environ["XDG_STATE_HOME"]
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before
