# SPDX-License-Identifier: Apache-2.0
"""Files of other charms' units on this machine whose stop hook Juju did not run, or cut short.

Juju 4.0 does so when the principal goes, and under load after a plain remove-relation, too. The unit's own
watcher removes most of them (files.py); if it is gone as well, the next hook of a charm that stays does.
Boot units stay with what they run, since instances may depend on their VFs: they are named.
"""

import json
import re
from collections.abc import Iterator

from converge import Finding, Severity, words
from converge.finding import RETRIED
from exporter import facts, install
from hostnic import handover
from hostnic.boot import units
from hostnic.handover import AGENTS
from hostnic.system import System, list_names, read_text

from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.dispatch.files import Names

BOOT_UNITS = {
    "sriov-switchdev": "ovn-offload-sriov-",
    "roce-qos": "ovn-offload-roce-qos",
    "nic-firmware": "ovn-offload-gpudirect",
    "cumulus-fabric": "",
}
"""How the names of a charm's boot units begin; empty for a charm that has none, only its exporter."""
GUIDE = "see docs/how-to/remove-a-charm.md"


def clear(system: System, charm: str) -> Iterator[Finding]:
    """Remove what the other charms left, and name the boot units that stay.

    A charm has left something if files of it are there, and none of its units: neither one that its files
    name nor, where they name none, one that is called as the charm. Without agents there is no telling.
    """
    agents = list_names(system, AGENTS)
    for other in (each for each in BOOT_UNITS if each != charm and agents):
        try:
            if _is_there(system, other) and not _lives(system, other, agents):
                yield from _remove(system, other)
        except OSError as error:
            what = f"what the removed {other} left cannot be removed: {words(error)}"
            yield Finding(Severity.WARNING, other, what, RETRIED)


def _is_there(system: System, charm: str) -> bool:
    script = Names(f"{charm}/0", charm).script
    paths = (handover.path_of(charm), facts.path_of(charm), install.copy_of(charm).directory, script)
    return any(map(system.files.exists, paths))


def _lives(system: System, charm: str, agents: list[str]) -> bool:
    named = {f"unit-{unit.replace('/', '-')}" for unit in _units(system, charm)}
    called = re.compile(rf"unit-{re.escape(charm)}-\d+")
    return any(agent in named or called.fullmatch(agent) for agent in agents)


def _units(system: System, charm: str) -> Iterator[str]:
    """The units that the charm's files name; its application may have another name than the charm."""
    for path in (handover.path_of(charm), facts.path_of(charm)):
        try:
            found = json.loads(read_text(system, path) or "{}").get("unit")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(found, str):
            yield found
    yield from re.findall(r"(?m)^unit=(\S+)$", read_text(system, Names(f"{charm}/0", charm).script) or "")


def _remove(system: System, charm: str) -> Iterator[Finding]:
    handover.withdraw(system, charm)
    facts.withdraw(system, charm)
    Dispatcher(system, f"{charm}/0", charm).remove()
    install.remove(system, charm)
    prefix = BOOT_UNITS[charm]
    if prefix and (kept := units.installed(system, (prefix,))):
        what = f"was removed without its stop hook, and still acts at each boot: {', '.join(kept)}"
        yield Finding(Severity.INFO, charm, what, GUIDE)
        return
    directory = install.copy_of(charm).directory
    left = [f"{directory}/{name}" for name in list_names(system, directory)]
    for path in (*left, directory, f"/etc/ovn-offload/{charm}.json"):
        if system.files.exists(path):
            system.files.remove(path)
