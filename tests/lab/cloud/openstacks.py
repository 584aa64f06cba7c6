# SPDX-License-Identifier: Apache-2.0
"""The OpenStack of each release that a control plane can run: its packages, and how its services start.

What differs between the releases is in this table, and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.host import HostError
from lab.image import chosen
from lab.releases import RELEASES, Release

_COMMON = (
    *("mariadb-server", "rabbitmq-server", "python3-pymysql", "uwsgi-plugin-python3"),
    *("keystone", "glance-api", "placement-api", "python3-openstacksdk"),
    *("nova-api", "nova-conductor", "nova-scheduler"),
    *("ovn-central", "iproute2", "procps"),
    # Of the compute nodes, and of the servers on them.
    *("python3-libvirt", "python3-os-vif", "libvirt-daemon", "libvirt-daemon-config-network"),
    *("libvirt-daemon-driver-qemu", "libvirt-clients", "qemu-system-x86", "qemu-utils", "ipxe-qemu"),
    *("conntrack", "genisoimage", "dosfstools", "udhcpc", "iputils-ping", "ethtool", "iperf3", "sysstat"),
)
_UBUNTU = (*_COMMON, "neutron-server", "neutron-plugin-ml2")
"""Ubuntu has one package and one process for Neutron's server, and libvirt's drivers in libvirt-daemon."""
_FILES = {
    "keystone": "/usr/bin/keystone-wsgi-public",
    "placement": "/usr/bin/placement-api",
    "nova": "/usr/bin/nova-api-wsgi",
}
"""The files that the charms give to Apache: modules in their place came with 2025.1."""
_EVENTLET = {"glance": "glance-api", "neutron": "neutron-server"}
"""Programs with eventlet's web server, which Ubuntu's packages and the charms start as services."""


@dataclass(frozen=True)
class OpenStack:
    """One release of OpenStack in a distribution's packages.

    Attributes:
        version: as OpenStack names it.
        title: for people.
        packages: of the root.
        wsgi: what uwsgi serves, by service: a module, or a file.
        programs: services with a web server of their own, and their commands.
        workers: of Neutron, those that are a process of their own; elsewhere its server has them.

    """

    version: str
    title: str
    packages: tuple[str, ...]
    wsgi: Mapping[str, str]
    programs: Mapping[str, str]
    workers: tuple[str, ...] = ()


OPENSTACKS = {
    "jammy": OpenStack("Yoga", "Yoga of Ubuntu 22.04", _UBUNTU, _FILES, _EVENTLET),
    "noble": OpenStack("2024.1", "2024.1 of Ubuntu 24.04", _UBUNTU, _FILES, _EVENTLET),
    "trixie": OpenStack(
        "2025.1",
        "2025.1 of Debian 13",
        (
            *_COMMON,
            *("neutron-api", "neutron-rpc-server"),
            *("neutron-periodic-workers", "neutron-ovn-maintenance-worker"),
            *("libvirt-daemon-driver-nodedev", "libvirt-daemon-driver-network"),
        ),
        {
            "keystone": "keystone.wsgi.api",
            "placement": "placement.wsgi.api",
            "glance": "/usr/bin/glance-wsgi-api",  # glance 30 has no module for it
            "neutron": "neutron.wsgi.api",
            "nova": "nova.wsgi.osapi_compute",
        },
        {},
        ("neutron-ovn-maintenance-worker", "neutron-periodic-workers"),
    ),
}
"""By the suite of the distribution's release."""


def taken() -> tuple[Release, OpenStack]:
    """The release that guests run, and its OpenStack.

    Raises:
        HostError: no control plane is known for it.

    """
    name = chosen()[0]
    release = RELEASES.get(name)
    if release is None or release.suite not in OPENSTACKS:
        known = ", ".join(each.name for each in RELEASES.values() if each.suite in OPENSTACKS)
        raise HostError(
            f"LAB_RELEASES={name}: there is no OpenStack for it; the first must be one of {known}"
        )
    return release, OPENSTACKS[release.suite]
