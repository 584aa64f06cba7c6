# SPDX-License-Identifier: Apache-2.0
"""Our files that others than root could have written: nothing reads them, and the operator is told."""

from collections.abc import Iterator

from converge import Finding, Severity

from hostnic.handover import DIRECTORY, FACTS
from hostnic.system import NotOwnError, System, list_names

ROOTS = (DIRECTORY, FACTS, "/var/lib/ovn-offload", "/etc/ovn-offload", "/usr/lib/ovn-offload")


def findings(system: System, charm: str) -> tuple[Finding, ...]:
    """One finding for each file or directory of ``charm`` that is not believed."""
    found = dict[str, Finding]()
    for path in _paths(system, charm):
        try:
            system.files.check_own(path)
        except NotOwnError as error:
            what, keep = f"is not used: it {error.is_so}", f"chown -h root: {error.path} and chmod go-w"
            remedy = f"delete it, and the charm writes it anew; if its content is right, run {keep}"
            found[error.path] = Finding(Severity.WARNING, error.path, what, f"{remedy} {error.path}")
        except OSError:
            continue  # it is gone
    return tuple(found.values())


def _paths(system: System, charm: str) -> Iterator[str]:
    for root in ROOTS:
        for name in list_names(system, root):
            if name.startswith(charm):
                yield f"{root}/{name}"
                yield from (f"{root}/{name}/{each}" for each in list_names(system, f"{root}/{name}"))
