# SPDX-License-Identifier: Apache-2.0
"""udev's rules that set VFs or modes, or run something that does."""

import re
from collections.abc import Collection, Iterator

from hostnic.devices.model import Pf
from hostnic.system import System
from observed import Setting, Writer

from writers.ports import DEVICE, allows, ports_named
from writers.services import unit
from writers.texts import SETS, SPEAKING, in_force, plain, programs_of, read

RULES = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d")

PACKAGED_RULES = ("/usr/lib/udev/rules.d", "/lib/udev/rules.d")

CONDITION = re.compile(r'(\w+)(?:\{([^}]*)\})?\s*(==|!=)\s*"([^"]*)"')

GOTO, LABEL = re.compile(r'\bGOTO\s*=\s*"([^"]*)"'), re.compile(r'\bLABEL\s*=\s*"([^"]*)"')

ASSIGNED = re.compile(r'ATTR\{[^}]*sriov_numvfs\}\s*[+:]?=(?!=)\s*"')

RUNS = re.compile(r'(?:RUN|PROGRAM|IMPORT|ENV\{SYSTEMD_WANTS\})(?:\{\w+\})?\s*[+:]?={1,2}\s*"([^"]*)"')


def of_rules(system: System, pfs: Collection[Pf]) -> Iterator[Writer]:
    """Rules of udev that assign the attribute, or run something that sets it."""
    for path in in_force(system, (*RULES, *PACKAGED_RULES), ".rules"):
        name, settings = path.rpartition("/")[2], list[Setting]()
        if path.startswith(PACKAGED_RULES) and not SPEAKING.search(name):
            continue
        # Ports that are surely not here, by the label where they come back.
        beyond: dict[str, set[str]] = {}
        for line in plain(read(system, path)).replace("\\\n", " ").splitlines():
            if label := GOTO.search(line):
                beyond.setdefault(label[1], set()).update(pf.bdf for pf in pfs if _surely_meets(pf, line))
            elif label := LABEL.search(line):
                beyond.pop(label[1], None)
            run = " ".join(RUNS.findall(line))
            run = "\n".join((run, *(unit(system, x)[1] for x in run.split() if x.endswith(".service"))))
            run = "\n".join((run, *programs_of(system, run).values()))
            if ASSIGNED.search(line) or SETS.search(run):
                ports = _of_rule(line, run, pfs).difference(*beyond.values())
                settings.append(Setting(name, ("the rule with sriov_numvfs",), ports))
        if settings:
            yield Writer(path, tuple(settings), "a udev rule")


def _surely_meets(pf: Pf, line: str) -> bool:
    """Whether a port meets each condition of a rule: none is about what is not known here."""
    found = CONDITION.findall(line)
    inverse = {"==": "!=", "!=": "=="}
    return bool(found) and not any(allows(pf, key, of, inverse[is_], value) for key, of, is_, value in found)


def _of_rule(line: str, run: str, pfs: Collection[Pf]) -> frozenset[str]:
    """The ports that meet a rule's conditions, and that its program names, if it names any device."""
    explicit = [a or b for a, b in DEVICE.findall(run) if not re.search(r"[$%*]", a or b)]
    named = ports_named(run, pfs) if explicit else None
    return frozenset(
        pf.bdf
        for pf in pfs
        if all(allows(pf, *each) for each in CONDITION.findall(line)) and (named is None or pf.bdf in named)
    )
