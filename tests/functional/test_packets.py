# SPDX-License-Identifier: Apache-2.0
"""The acceptance test's small frames by DPDK, over virtio between two servers: real testpmd, kernel and bind.

The servers are guests with a cable; DPDK is Debian's, in a root of its own.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from acceptance.measure.script import Run
from acceptance.measure.tools import MEASURES, TESTPMD
from lab import host
from lab.cable import Nic, cables
from lab.guest import Guest

pytestmark = pytest.mark.thorough

PACKAGES = "dpdk,dpdk-dev,librte-net-virtio25,iproute2,iputils-ping,kmod,procps,pciutils,python3"
ROOT = "/opt/dpdk"
MACS = ("52:54:00:66:00:01", "52:54:00:66:00:02")
CLIENT, SERVER = "66.66.66.10", "66.66.66.11"
NETWORK = """[Match]
MACAddress={mac}
[Network]
Address={address}/24
"""
# The last disk is the archive itself.
PREPARED = f"""set -e
mkdir -p {ROOT} /dev/hugepages
mountpoint -q /dev/hugepages || mount -t hugetlbfs none /dev/hugepages
tar -xf $(ls /dev/vd? | tail -n 1) -C {ROOT}
for folder in dev proc sys lib/modules; do
    mkdir -p {ROOT}/$folder
    mount --rbind /$folder {ROOT}/$folder
done
echo 560 >/proc/sys/vm/nr_hugepages
"""
RUN = Run(SERVER, CLIENT, 5, 2, 18)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guest, Guest]]:
    """Two, with a virtio port each; a client, and a server."""
    host.require()
    archive = tmp_path_factory.mktemp("dpdk") / "root.tar"
    command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}", "trixie", str(archive)]
    subprocess.run(command, check=True)
    with cables([MACS]) as (near, far), ExitStack() as stack:

        def server(nics: list[Nic], address: str) -> Guest:
            guest = stack.enter_context(Guest(nics=nics, memory=2560, disks=[archive]))
            network = NETWORK.format(mac=nics[0].mac, address=address)
            guest.write("/etc/systemd/network/05-port.network", network)
            guest.run("networkctl reload", timeout=120)
            guest.run(PREPARED, timeout=600)
            assert guest.until(lambda: address in addresses(guest), 60)
            return guest

        yield server(near, CLIENT), server(far, SERVER)


def addresses(guest: Guest) -> str:
    return guest.run("ip -br -4 address").stdout


def in_root(guest: Guest, script: str) -> str:
    return guest.run(["chroot", ROOT, "bash", "-c", script], timeout=400).stdout


def test_dpdk_takes_a_virtio_port_counts_what_arrives_and_the_kernel_has_the_port_again(servers):
    client, server = servers
    measure = MEASURES[TESTPMD]
    assert measure.collect
    client.run(f"ping -c 1 -W 10 {SERVER}")  # as each rung does first
    in_root(server, measure.serve(RUN))
    assert SERVER not in addresses(server), "testpmd has the port"
    in_root(client, measure.ask(RUN))
    figure = measure.read(in_root(server, measure.collect(RUN)))
    assert figure.unit == "Mpps"
    assert figure.value > 0
    assert CLIENT in addresses(client)
    assert SERVER in addresses(server)
    client.run(f"ping -c 3 -W 10 {SERVER}")
