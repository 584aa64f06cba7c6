# SPDX-License-Identifier: Apache-2.0
"""The action show-health: what of this host is not as it should be, worst first, and then what is."""

from collections.abc import Collection, Iterator, Sequence

from charmkit.health import OK, Row, ranked, row
from charmkit.output import Table
from converge import Finding, Severity, words
from converge.finding import unfinished, worst_first
from hostnic.devices import health
from hostnic.devices.health import Look, PortLook
from hostnic.network import flows, ovs
from hostnic.system import System
from nic.judge import VfLag
from plan import reboot_reasons
from survey import Survey


def show(system: System, survey: Survey, seconds: int) -> tuple[str, Table]:
    """The worst of all states, and a row for each thing that was looked at.

    The counters are watched for ``seconds``.
    """
    ports = [now.pf for way in survey.ways for now in way.nic.ports]
    before = health.count(system, ports)
    system.sleep(seconds)
    now = health.look(system, ports)
    said = () if survey.boot_at_work else survey.ways  # until then nothing is said of ports
    dark = {now.netdev for way in said for now in way.nic.ports if now.dark}
    watched = health.compare(before, now)
    wrong = [*survey.findings]
    wrong += (each for each in watched if each.subject not in dark or each.what != health.NO_LINK)
    flowing, unheard = _flows(system)
    wrong += unheard
    if reasons := reboot_reasons(survey.ways):
        what = f"needed for {', '.join(reasons)}"
        wrong.append(Finding(Severity.PLANNED, "reboot", what, "the unit's status says what it waits for"))
    wrong = worst_first(wrong)
    return ranked(wrong, (*_well(survey, wrong, dark, now, seconds), *flowing))


def _well(
    survey: Survey, wrong: Sequence[Finding], dark: Collection[str], now: Look, seconds: int
) -> Iterator[Row]:
    """Yield the rows of all that is as it should be; ``dark`` ports are not."""
    named = {finding.subject for finding in wrong if finding.severity > Severity.INFO} | {*dark}
    if not unfinished(survey.findings):
        yield row(OK, "configuration", "as declared")
    if "reboot" not in named:
        yield row(OK, "reboot", "not needed")
    for nic in (way.nic for way in survey.ways):
        if nic.slot not in named and nic.lag is VfLag.ACTIVE:
            yield row(OK, nic.slot, "VF-LAG is active")
    for port in now.ports:
        if port.name not in named:
            yield row(OK, port.name, _port(port, seconds))


def _port(port: PortLook, seconds: int) -> str:
    bond = f", {port.pf.bond} sends on it" if port.distributing else ""
    return f"link up{bond}, no counter of a fault grew in {seconds} s"


def _flows(system: System) -> tuple[list[Row], list[Finding]]:
    """How many of Open vSwitch's flows are in the NIC; a warning where it does not answer."""
    try:
        found = flows.parse(ovs.dump_flows(system))
    except OSError as error:
        what = f"Open vSwitch does not answer: {words(error)}"
        return [], [Finding(Severity.WARNING, "flows", what, "see journalctl -u ovs-vswitchd on this host")]
    inside = sum(flow.offloaded for flow in found)
    told = f"{inside} in the NIC, {len(found) - inside} not"
    return [row(OK, "flows", told, "show-offload shows why")], []
