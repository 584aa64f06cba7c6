# SPDX-License-Identifier: Apache-2.0
"""Where the control plane is: the address that nodes and clients know, and its services' ports."""

CONTROLLER = "192.168.25.3"
"""In the OAM network of the reference design, in place of its machine maas."""
PREFIX = 24
PORTS = {"keystone": 5000, "placement": 8778, "glance": 9292, "neutron": 9696, "nova": 8774}
RABBIT = 5672
NORTHBOUND, SOUTHBOUND = 6641, 6642
PASSWORD = "secret"
"""Of every user: nobody outside of the namespaces reaches the services."""
REGION = "RegionOne"


def url(service: str) -> str:
    """A service's, without a version."""
    return f"http://{CONTROLLER}:{PORTS[service]}"
