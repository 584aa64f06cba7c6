# SPDX-License-Identifier: Apache-2.0
"""The bytes of data centre bridging in dcbnl's messages: attribute IEEE and what is nested in it. Pure.

Layouts are those of include/uapi/linux/dcbnl.h: structures in the CPU's byte order, inside netlink
attributes. An attribute that is too short is read as absent, an unknown one is ignored, and a longer one
comes from a newer kernel.
"""

import struct
from collections.abc import Iterable, Iterator

from hostnic.netlink.channel import ATTRIBUTE, attributes
from hostnic.netlink.dcb import CLASSES, ETS, TSA, UNKNOWN_TSA, App, Dcb, Ets, Pfc, priorities

_ETS = struct.Struct("=3B8s8s8s8s8s8s8s")
_PFC = struct.Struct("=4BH2x8Q8Q")
_APP = struct.Struct("=BBH")

_A_ETS, _A_PFC, _A_APPS = 1, 2, 3
_A_APP = 1


def encode(wanted: Dcb) -> bytes:
    """The content of attribute IEEE that asks for ``wanted``.

    Raises ValueError if a number does not fit, or an algorithm is unknown; a mistake of the caller's.
    """
    try:
        return b"".join(_attributes(wanted))
    except struct.error as error:
        raise ValueError(str(error)) from None


def decode(content: bytes) -> Dcb:
    """The content of attribute IEEE in the kernel's answer to IEEE_GET."""
    found = dict(attributes(content))
    return Dcb(
        ets=_decode_ets(found.get(_A_ETS, b"")),
        pfc=_decode_pfc(found.get(_A_PFC, b"")),
        apps=tuple(sorted(_decode_apps(found.get(_A_APPS, b"")))),
    )


def _attributes(wanted: Dcb) -> Iterator[bytes]:
    if wanted.ets is not None:
        yield _attribute(_A_ETS, _encode_ets(wanted.ets))
    if wanted.apps:
        entries = (_APP.pack(app.selector, app.priority, app.protocol) for app in wanted.apps)
        yield _attribute(_A_APPS, b"".join(_attribute(_A_APP, entry) for entry in entries))
    if wanted.pfc is not None:
        mask = sum(1 << priority for priority in set(wanted.pfc.priorities))
        content = _PFC.pack(CLASSES, mask, 0, 0, wanted.pfc.delay, *(0,) * 16)
        yield _attribute(_A_PFC, content)


def _encode_ets(ets: Ets) -> bytes:
    numbers = {name: number for number, name in TSA.items()}
    if unknown := set(ets.tsa) - set(numbers):
        raise ValueError(f"{' '.join(sorted(unknown))} is no transmission selection algorithm")
    none = bytes(CLASSES)
    tsa = _octets([numbers[name] for name in ets.tsa])
    bandwidth = _octets(ets.bandwidth)
    return _ETS.pack(0, CLASSES, 0, bandwidth, none, tsa, _octets(ets.prio_tc), none, none, none)


def _octets(values: Iterable[int]) -> bytes:
    content = bytes(values)
    if len(content) != CLASSES:
        raise ValueError(f"{len(content)} values where {CLASSES} belong")
    return content


def _attribute(kind: int, content: bytes) -> bytes:
    """A netlink attribute, padded to four bytes."""
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(content), kind) + content + bytes(-len(content) % 4)


def _decode_ets(content: bytes) -> Ets | None:
    if len(content) < _ETS.size:
        return None
    _, _, _, bandwidth, _, tsa, prio_tc, _, _, _ = _ETS.unpack_from(content)
    algorithms = tuple(TSA.get(number, UNKNOWN_TSA) for number in tsa)
    shares = tuple(share if name == ETS else 0 for share, name in zip(bandwidth, algorithms))
    return Ets(tuple(prio_tc), algorithms, shares)


def _decode_pfc(content: bytes) -> Pfc | None:
    if len(content) < _PFC.size:
        return None
    _, mask, _, _, delay, *counters = _PFC.unpack_from(content)
    return Pfc(priorities(mask), delay, tuple(counters[:CLASSES]), tuple(counters[CLASSES:]))


def _decode_apps(content: bytes) -> Iterator[App]:
    for kind, entry in attributes(content):
        if kind == _A_APP and len(entry) >= _APP.size:
            selector, priority, protocol = _APP.unpack_from(entry)
            yield App(selector, protocol, priority)
