# SPDX-License-Identifier: Apache-2.0
"""nova-compute on a guest that has the cloud's disk."""

from typing import Any

from lab.cloud import configuration, translate
from lab.code import MOUNTED
from lab.guest import Guest

START = f"{MOUNTED}/tests/lab/cloud/compute/start.sh"
MEMORY = 3072
"""MiB of a compute node: libvirt and nova-compute take 400, its large pages 512."""
STOP = "systemctl stop nova-compute; systemctl stop libvirtd virtlogd"
"""In this order: a nova-compute that loses libvirt disables its node."""
ROOT = "/opt/cloud/root"
"""Where a node has what is on that disk."""
PAGES = 272
"""Large pages of 2 MiB: those of a server with 512 MiB, and some that must stay free."""


def start(
    guest: Guest,
    host: str,
    address: str,
    options: translate.Sections,
    driver: str = configuration.NAMESPACES,
) -> None:
    """Start libvirt and nova-compute, also after a reboot of the guest.

    Args:
        guest: with the cloud's disk (:func:`lab.cloud.root.disk`) and its netdevs in switchdev mode.
        host: its name to Nova, which is also the hostname of its OVN chassis.
        address: that the control plane reaches it at.
        options: what nova-compute's options are translated to.
        driver: what a server is; see :func:`lab.cloud.configuration.compute`.

    """
    sections = configuration.compute(host, address, options, driver)
    guest.write("/run/nova.conf", configuration.ini(sections))
    guest.run(["sh", START, str(PAGES)], timeout=300)


def stop(guest: Guest) -> None:
    """End nova-compute and libvirt, and free the large pages."""
    guest.run(f"{STOP}; echo 0 >/proc/sys/vm/nr_hugepages", timeout=300)


def reported(connection: Any) -> set[str]:
    """The nodes that can have servers: Placement has their resources, Nova's cell has them, and they answer.

    These come some minutes after the compute service has started, in this order: its RPC server starts once
    Placement has the resources, and only then it writes that it is up (nova/service.py). Who calls it before
    waits for a minute and fails.
    """
    # openstacksdk is not in every environment that imports the lab.
    from acceptance.asking import asking

    with asking("compute nodes"):
        providers = {each.name for each in connection.placement.resource_providers()}
        cell = {each.name for each in connection.compute.hypervisors()}
        services = connection.compute.services(binary="nova-compute")
        return providers & cell & {each.host for each in services if each.updated_at and each.state == "up"}
