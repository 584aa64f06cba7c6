# SPDX-License-Identifier: Apache-2.0
"""The commands for each Onyx and Comware switch of a fabric. Pure."""

from collections.abc import Collection

from intent.model import Fabric, Role, Switch

from standalone import Script, comware, onyx

_WRITERS = {"onyx": onyx.script, "comware": comware.script}


def script_for(fabric: Fabric, switch: Switch) -> Script:
    """The commands for ``switch``, which has no NVUE, in configuration mode."""
    return _WRITERS[switch.platform](fabric, switch)


def switches(fabric: Fabric, names: Collection[str] = ()) -> tuple[Switch, ...]:
    """The Onyx and Comware switches of these names, or all."""
    return tuple(s for s in fabric.by_role(Role.STANDALONE) if not names or s.name in names)
