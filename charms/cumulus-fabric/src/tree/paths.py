# SPDX-License-Identifier: Apache-2.0
"""The paths of NVUE's tree that this charm renders, and a tree as a list of them. Pure.

Any other path is refused by name.
"""

import shlex
from collections.abc import Iterable, Iterator
from typing import TypeAlias, cast

from intent import ports
from intent.model import Dialect

from tree.render import Tree

Path: TypeAlias = tuple[str, ...]
"""From the top of the tree; a value is the last part."""

_FORMS = """
interface #
interface # type =word
interface # description =word
interface # ip address *
interface # link mtu =number
interface # bond member #
interface # bond lacp-bypass =switch
interface # bridge domain * vlan #
interface # bridge domain * untagged =number
interface # evpn multihoming segment enable =switch
interface # evpn multihoming segment local-id =number
interface # evpn multihoming segment mac-address =word
interface # evpn multihoming segment df-preference =number
interface # evpn multihoming uplink =switch
bridge domain * vlan # vni *
nve vxlan enable =switch
nve vxlan source address =word
nve vxlan arp-nd-suppress =switch
system global anycast-mac =word
evpn enable =switch
evpn multihoming enable =switch
router bgp enable =switch
router bgp autonomous-system =number
router bgp router-id =word
vrf * router bgp enable =switch
vrf * router bgp peer-group * remote-as =word
vrf * router bgp peer-group * address-family l2vpn-evpn enable =switch
vrf * router bgp neighbor * peer-group =word
vrf * router bgp neighbor * type =word
vrf * router bgp address-family l2vpn-evpn enable =switch
vrf * router bgp address-family ipv4-unicast enable =switch
vrf * router bgp address-family ipv4-unicast redistribute connected enable =switch
qos roce
qos roce enable =switch
qos roce mode =word
"""
"""Up to 5.14. ``*`` is one name, ``#`` a range of names, ``=`` the kind of a value."""


class PathError(ValueError):
    """A command or a path that this charm does not render."""


def _forms(dialect: Dialect) -> list[Path]:
    text = _FORMS
    if dialect is Dialect.FROM_5_15:
        text = text.replace(" ip address", " ipv4 address").replace(" enable =", " state =")
    return [tuple(line.split()) for line in text.split("\n") if line]


def _by_shape(dialect: Dialect) -> dict[tuple[str, int], list[tuple[int, Path]]]:
    """The forms and their ranks, by first part and length: few are left to compare with."""
    found: dict[tuple[str, int], list[tuple[int, Path]]] = {}
    for rank, known in enumerate(_forms(dialect)):
        found.setdefault((known[0], len(known)), []).append((rank, known))
    return found


_KNOWN = {dialect: _by_shape(dialect) for dialect in Dialect}


def form(path: Path, dialect: Dialect) -> Path:
    """The form that ``path`` has.

    Raises:
        PathError: none of them.

    """
    return _ranked(path, dialect)[1]


def _ranked(path: Path, dialect: Dialect) -> tuple[int, Path]:
    for rank, known in _KNOWN[dialect].get((path[0] if path else "", len(path)), ()):
        if all(part == token or _takes(part, token, dialect) for part, token in zip(known, path)):
            return rank, known
    raise PathError(f"{' '.join(path)} is no path that this charm renders for NVUE {dialect.value}")


def rank(path: Path, dialect: Dialect) -> tuple[int, tuple[tuple[tuple[int, str | int], ...], ...]]:
    """A sort key: commands in the order of the forms above, then by name.

    Raises:
        PathError: as ``form``.

    """
    return _ranked(path, dialect)[0], tuple(map(ports.natural, path))


def _takes(part: str, token: str, dialect: Dialect) -> bool:
    if part == "=number":
        return token.isdigit()
    if part == "=switch":
        return token in (("enabled", "disabled") if dialect is Dialect.FROM_5_15 else ("on", "off"))
    return part in ("*", "#", "=word")


def of_command(line: str, dialect: Dialect) -> list[Path]:
    """An ``nv set`` command as single paths: its ranges counted out.

    Raises:
        PathError: it is no command that this charm renders.

    """
    tokens = shlex.split(line)
    if tokens[:2] != ["nv", "set"]:
        raise PathError(f"{line} is no nv set command")
    found: list[Path] = [()]
    for part, token in zip(form(tuple(tokens[2:]), dialect), tokens[2:]):
        names = ports.names(token) if part == "#" else [token]
        found = [(*path, name) for path in found for name in names]
    return found


def of_tree(node: object, above: Path = ()) -> Iterator[Path]:
    """Every leaf of a tree, its value as the last part; an empty dict ends in its own key."""
    if not isinstance(node, dict):
        yield (*above, str(node))
        return
    entries = cast("Tree", node)
    if not entries:
        yield above
    for key, value in entries.items():
        yield from of_tree(value, (*above, key))


def to_tree(paths: Iterable[Path], dialect: Dialect) -> Tree:
    """The tree that has these paths.

    Raises:
        PathError: one of them is not rendered by this charm.

    """
    tree: Tree = {}
    for path in paths:
        kind = form(path, dialect)[-1]
        keys = path[:-2] if kind.startswith("=") else path
        node = tree
        for key in keys:
            node = node.setdefault(key, {})
        if kind.startswith("="):
            node[path[-2]] = int(path[-1]) if kind == "=number" else path[-1]
    return tree
