# SPDX-License-Identifier: Apache-2.0
"""A switch's configuration as text: ``nv set`` commands, NVUE's YAML, JSON, or its first boot. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Protocol

import yaml
from intent.model import Dialect, Fabric, Switch
from standalone.scripts import script_for
from tree import Tree, commands, render

from output import ztp

ZTP = "ztp"
"""The script for the first boot, which is of no dialect, and needs nothing of the switch."""

FORMATS = ("nv", "yaml", "json", ZTP)


class FormatError(ValueError):
    """The switch has no configuration in the requested format."""


def write(fabric: Fabric, switch: Switch, dialect: Dialect, form: str) -> str:
    """``switch``'s configuration in one of FORMATS, ending in a newline.

    Raises FormatError if another format is requested of an Onyx or Comware switch, which has commands only,
    or a first boot of a switch without a management address.
    """
    if switch.platform != "cumulus" and form != "nv":
        raise FormatError(f"{switch.name} runs {switch.platform}, which takes commands only: use format nv")
    if switch.platform != "cumulus":
        script = script_for(fabric, switch)
        return _joined([*(f"! {note}" for note in script.notes), *script.typed])
    if form == ZTP:
        if not switch.management:
            what = "has no management address, which its certificate is for"
            raise FormatError(f"{switch.name} {what}: give {switch.path}.management")
        return ztp.script(switch)
    tree = render.tree(fabric, switch, dialect)
    return {"yaml": as_yaml, "json": as_json}[form](tree) if form != "nv" else as_commands(tree, dialect)


def together(texts: Mapping[str, str], form: str, indent: int | None = None) -> str:
    """Join the texts of several switches as ``write`` gives them, by name; one alone stays without its name.

    ``indent`` is that of JSON.
    """
    if len(texts) == 1:
        return next(iter(texts.values()))
    if form == "json":
        return _joined([json.dumps({name: json.loads(text) for name, text in texts.items()}, indent=indent)])
    mark = "---\n# " if form == "yaml" else "# "
    return "\n".join(f"{mark}{name}\n{text}" for name, text in texts.items())


def as_commands(tree: Tree, dialect: Dialect) -> str:
    """Commands to type, followed by those that the CLI adds by itself, as comments."""
    written = commands.write(tree, dialect)
    implied = [f"# {line}" for line in written.implied]
    return _joined([*written.typed, "", "# Added by the CLI itself; REST needs them:", *implied])


def as_yaml(tree: Tree) -> str:
    """A file for ``nv config patch`` that YAML 1.1 and 1.2 parsers read alike."""
    return yaml.dump([{"set": tree}], Dumper=_Dumper, default_flow_style=False, sort_keys=False)


def as_json(tree: Tree) -> str:
    """The body of a REST request."""
    return _joined([json.dumps(tree, indent=2)])


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


_NUMBER_LIKE = re.compile(r"[0-9.+~-]|.*:")
"""Text that YAML 1.1 or 1.2 reads as a number: sexagesimal MACs and route distinguishers, 1e3, 0o17."""


class _Dumper(yaml.SafeDumper):
    """Quotes more than PyYAML does, and uses no aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


class _Representer(Protocol):
    def represent_scalar(self, tag: str, value: str, style: str | None = None) -> yaml.ScalarNode: ...


def _text(dumper: _Representer, value: str) -> yaml.ScalarNode:
    style = "'" if _NUMBER_LIKE.match(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _text)
