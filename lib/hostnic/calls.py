# SPDX-License-Identifier: Apache-2.0
"""How records and injected faults spell the methods of :mod:`hostnic.system`, and which of them write."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hostnic.netlink.dcb import App, Dcb, dcbx_words
from hostnic.system import DataCentreBridging, Devlink, Ethtool, Files, Links


def _plain(*arguments: object) -> Sequence[str]:
    return [str(argument) for argument in arguments]


class Call(NamedTuple):
    """How records and injected faults spell a method."""

    verb: str  # `write`, `set_eswitch_mode` …
    writes: bool  # it changes the machine
    words: Callable[..., Sequence[str]] = _plain  # how they spell its arguments


def _path(path: str, *_: object) -> Sequence[str]:
    """The path alone."""
    return [path]


def _master(link: str, master: str | None) -> Sequence[str]:
    """``nomaster`` as "none"."""
    return link, master or "none"


def _up(link: str, up: bool) -> Sequence[str]:
    """The state as "up" or "down"."""
    return link, "up" if up else "down"


def _on(link: str, *switches: bool) -> Sequence[str]:
    """Each switch as "on" or "off"."""
    return link, *("on" if switch else "off" for switch in switches)


def _values(link: str, wanted: Sequence[object]) -> Sequence[str]:
    """Each of the values."""
    return link, *(str(int(value)) if isinstance(value, bool) else str(value) for value in wanted)


def _settings(link: str, wanted: Dcb) -> Sequence[str]:
    """Spell the settings of data centre bridging that are set."""
    return link, *wanted.names


def _count(link: str, apps: Sequence[App]) -> Sequence[str]:
    """How many entries."""
    return link, str(len(apps))


def _dcbx(link: str, mode: int) -> Sequence[str]:
    """The mode's bits in words."""
    return link, dcbx_words(mode)


_METHODS: Mapping[Callable[..., object], Call] = {
    Files.read: Call("read", False),
    Files.listdir: Call("listdir", False),
    Files.readlink: Call("readlink", False),
    Files.stat: Call("stat", False),
    Files.exists: Call("exists", False),
    Files.check_own: Call("check_own", False),
    Files.write: Call("write", True),
    Files.install: Call("install", True, _path),
    Files.remove: Call("remove", True),
    Files.lock: Call("lock", False),
    Files.unlock: Call("unlock", False),
    Files.mkdir: Call("mkdir", True),
    Links.all: Call("links", False),
    Links.addresses: Call("addresses", False),
    Links.traffic: Call("traffic", False),
    Links.rdma: Call("rdma_links", False),
    Links.set_master: Call("set_master", True, _master),
    Links.set_up: Call("set_up", True, _up),
    Links.await_change: Call("await_change", False),
    Ethtool.hw_tc_offload: Call("hw_tc_offload", False),
    Ethtool.set_hw_tc_offload: Call("set_hw_tc_offload", True, _on),
    Ethtool.pause: Call("pause", False),
    Ethtool.set_pause: Call("set_pause", True, _on),
    Ethtool.channels: Call("channels", False),
    Ethtool.set_channels: Call("set_channels", True),
    Ethtool.rings: Call("rings", False),
    Ethtool.set_rings: Call("set_rings", True, _values),
    Ethtool.coalescing: Call("coalescing", False),
    Ethtool.set_coalescing: Call("set_coalescing", True, _values),
    Ethtool.statistics: Call("statistics", False),
    DataCentreBridging.get: Call("dcb", False),
    DataCentreBridging.set: Call("set_dcb", True, _settings),
    DataCentreBridging.delete_apps: Call("delete_dcb_apps", True, _count),
    DataCentreBridging.set_dcbx: Call("set_dcbx", True, _dcbx),
    Devlink.eswitch_mode: Call("eswitch_mode", False),
    Devlink.set_eswitch_mode: Call("set_eswitch_mode", True),
    Devlink.set_inline_mode: Call("set_inline_mode", True),
    Devlink.encap_mode: Call("encap_mode", False),
    Devlink.param: Call("devlink_param", False),
    Devlink.set_param: Call("set_devlink_param", True),
    Devlink.info: Call("device_info", False),
    Devlink.health: Call("health", False),
}
CALLS = {method.__qualname__: call for method, call in _METHODS.items()}
"""The doors' methods by ``Door.method``."""
