# SPDX-License-Identifier: Apache-2.0
"""The shapes of MAAS' answers, as far as they are read; whatever else is in them stays.

Fields: the API 2.0 of MAAS 3 (``DISPLAYED_MACHINE_FIELDS``, ``DISPLAYED_INTERFACE_FIELDS`` and others in
maasserver/api/*.py). A proxy, another server at that address, or a later API may answer with other JSON: then
the operator gets one sentence.
"""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

from converge import StepError
from converge.shape import (
    AnyText,
    Boolean,
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    MappingOf,
    OrNull,
    Shape,
)
from maas.client import Maas
from maas.sitefile.reader import ADDRESS, Word

_TEXT, _NUMBER = AnyText(), Integer(None, None)
OPTIONAL_TEXT, OPTIONAL_YES_OR_NO = OrNull(_TEXT), OrNull(Boolean())
_NETWORK = Word("a subnet", ip_network)


def _seen(**_: object) -> None:
    """The answer itself is used, with all of its fields."""


def _object(optional: Sequence[str] = (), **keys: Shape[Any]) -> JsonRecord[None]:
    """An object with these fields, of which some may be absent; and with any others."""
    return JsonRecord(_seen, keys, [key for key in keys if key not in optional])


_LINK = _object(
    mode=_TEXT,
    subnet=OrNull(_object(cidr=_TEXT)),
    ip_address=OrNull(ADDRESS),
    optional=["subnet", "ip_address"],
)
_INTERFACE = _object(
    name=_TEXT,
    resource_uri=_TEXT,
    type=_TEXT,
    parents=ListOf(_TEXT, "names of interfaces"),
    links=ListOf(_LINK, "links to subnets"),
    link_connected=Boolean(),
    numa_node=OrNull(_NUMBER),
    vlan=OrNull(_object(id=_NUMBER, vid=_NUMBER)),
    effective_mtu=OrNull(_NUMBER),
    optional=["effective_mtu"],
)
_NUMA = _object(index=_NUMBER, cores=ListOf(_NUMBER, "numbers of cores"), memory=_NUMBER)
_MACHINE = _object(
    hostname=_TEXT,
    system_id=_TEXT,
    resource_uri=_TEXT,
    status_name=_TEXT,
    memory=OrNull(_NUMBER),
    architecture=OrNull(_TEXT),
    hwe_kernel=OrNull(_TEXT),
    osystem=OrNull(_TEXT),
    distro_series=OrNull(_TEXT),
    owner=OrNull(_TEXT),
    locked=Boolean(),
    tag_names=ListOf(_TEXT, "names of tags"),
    interface_set=ListOf(_INTERFACE, "interfaces"),
    numanode_set=ListOf(_NUMA, "NUMA nodes"),
    optional=["architecture", "hwe_kernel", "osystem", "distro_series", "owner", "locked"],
)
_VLAN = _object(id=_NUMBER, vid=_NUMBER, resource_uri=_TEXT)
_FABRIC = _object(id=_NUMBER, name=_TEXT, resource_uri=_TEXT, vlans=ListOf(_VLAN, "VLANs"))
_SUBNET = _object(
    cidr=_NETWORK,
    resource_uri=_TEXT,
    gateway_ip=OrNull(ADDRESS),
    vlan=_object(id=_NUMBER, vid=_NUMBER, fabric_id=_NUMBER),
    optional=["gateway_ip"],
)
_DEVICE = _object(
    vendor_id=_TEXT,
    pci_address=OrNull(_TEXT),
    physical_interface=OrNull(_object(name=_TEXT)),
)


_ADDRESSES = ListOf(ADDRESS, "addresses")
_RACK = _object(
    hostname=_TEXT,
    system_id=_TEXT,
    ip_addresses=_ADDRESSES,
    interface_set=ListOf(_object(vlan=OrNull(_object(vid=_NUMBER))), "interfaces"),
    optional=["interface_set"],
)
_NODES = ListOf(_object(hostname=_TEXT, ip_addresses=_ADDRESSES, optional=["ip_addresses"]), "nodes")
_SETS = MappingOf(_TEXT, _object(complete=Boolean()), "versions")

LISTS: dict[str, Shape[Any]] = {
    "spaces": ListOf(_object(name=_TEXT, resource_uri=_TEXT), "spaces"),
    "subnets": ListOf(_SUBNET, "subnets"),
    "ipranges": ListOf(_object(type=_TEXT, start_ip=ADDRESS, end_ip=ADDRESS), "ranges of addresses"),
    "tags": ListOf(_object(name=_TEXT, resource_uri=_TEXT), "tags"),
    "machines": ListOf(_MACHINE, "machines"),
    "rackcontrollers": ListOf(_RACK, "rack controllers"),
    "devices": _NODES,
    "regioncontrollers": _NODES,
    "boot-resources": ListOf(_object(id=_NUMBER, name=_TEXT, architecture=_TEXT), "images"),
    "fabrics": ListOf(_FABRIC, "fabrics"),
}
"""The lists that MAAS gives at ``KIND/``, and their shapes."""

POWER: Shape[Any] = MappingOf(_TEXT, _object(), "machines and power parameters")
IMAGE: Shape[Any] = _object(id=_NUMBER, name=_TEXT, architecture=_TEXT, sets=_SETS)
DEVICES: Shape[Any] = ListOf(_DEVICE, "devices")
_RACK_IMAGE = _object(name=_TEXT, architecture=_TEXT, subarches=ListOf(_TEXT, "kernels"))
RACK_IMAGES: Shape[Any] = _object(images=ListOf(_RACK_IMAGE, "images"), connected=Boolean(), status=_TEXT)
ROUTES: Shape[Any] = ListOf(_object(gateway_ip=ADDRESS), "static routes")
GIVEN: Shape[Any] = ListOf(_object(ip=OrNull(ADDRESS)), "addresses")


def listed(maas: Maas, kind: str) -> Any:
    """Return MAAS' list of a kind: one of :data:`LISTS`. Raises StepError as :func:`ask`."""
    return ask(maas, f"{kind}/", LISTS[kind])


def config(maas: Maas, name: str, shape: Shape[Any]) -> Any:
    """A setting of the region. Raises StepError as :func:`ask`."""
    return ask(maas, f"maas/?op=get_config&name={name}", shape)


def ask_if_told(maas: Maas, path: str, shape: Shape[Any]) -> Any:
    """The same as :func:`ask`; None where this release of MAAS, or this user, is not told.

    Raises StepError if MAAS does not answer at all.
    """
    try:
        return ask(maas, path, shape)
    except StepError:
        if maas.lost:
            raise
        return None


def ask(maas: Maas, path: str, shape: Shape[Any]) -> Any:
    """Return MAAS' answer to a GET. Raises StepError if it answers with something else, or not at all."""
    answer = maas.send(path)
    try:
        shape.read("", answer)
    except InvalidValue as error:
        reason = f"MAAS' answer to GET {path} cannot be used: {error}"
        raise StepError(reason, "check that maas in the site file is the address of a MAAS 3") from error
    return answer
