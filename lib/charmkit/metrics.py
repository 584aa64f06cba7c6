# SPDX-License-Identifier: Apache-2.0
"""A hook's part in the exporter of its machine. Does not import ops."""

from converge import Finding, Severity, StepError, words
from converge.finding import RETRIED
from converge.shape import InvalidValue
from exporter import facts, install
from exporter.facts import Facts
from hostnic.system import System

SUBJECT = "the exporter"


def publish(system: System, told: Facts, *, place: bool, address: str = "") -> tuple[Finding, ...]:
    """Write what the hook knows, and ``place`` the exporter if options are sound; a warning if that fails.

    The exporter serves loopback, and ``address`` if there is one.
    """
    try:
        facts.publish(system, told)
        return install.install(system, told.charm, address) if place else ()
    except (OSError, StepError, InvalidValue) as error:
        what = f"cannot be kept up to date: {words(error)}"
        return (Finding(Severity.WARNING, SUBJECT, what, RETRIED),)


def remove(system: System, charm: str) -> list[str]:
    """Take this charm's part away; a sentence if something cannot be removed."""
    try:
        facts.withdraw(system, charm)
        install.remove(system, charm)
    except OSError as error:
        return [f"{SUBJECT} cannot be removed: {words(error)}"]
    return []
