# SPDX-License-Identifier: Apache-2.0
"""From the judgement of the host to the steps that set and burn, and those that wait for a restart. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from converge import Disruption, Finding, Held, Plan, Severity, Step
from hostnic.system import HostStep, System
from nic import changes
from nic.activation import held_reboot
from nic.judge import Declared, Judgement, Outcome, Verdict
from observed import Observed


def plan(
    judgement: Judgement,
    observed: Observed,
    findings: Sequence[Finding] = (),
    host_steps: Iterable[HostStep | Held[System]] = (),
    release: str = changes.RELEASE,
) -> Plan[System]:
    """The steps that bring the firmware to what is declared, what waits, and what prevents it.

    A NIC about which something blocks or is held is left alone; the others are planned.

    ``findings`` are those of the selection and the survey: a blocking one blocks the whole plan.
    ``host_steps`` are for the host's side of the profile gpudirect (gpu.py). ``release`` is what the operator
    does to have the reboot, in words.
    """
    run, held = list[HostStep](), list[Held[System]]()
    last = list[HostStep]()  # a burn that fails must not keep anything else from being set
    about = [finding for judged in judgement.nics for finding in judged.findings]
    for judged in judgement.nics:
        if judged.stopped:
            continue
        for verdicts in judged.ports.values():
            run += _set_steps([each for each in verdicts if each.outcome is Outcome.SET], observed)
        about += judged.firmware.findings
        last += [judged.firmware.burn] if judged.firmware.burn else []
        reboot = held_reboot(judged, release)
        held += [reboot] if reboot else []
    for each in judgement.undecided:
        bdf = each.setting.makes
        own = f"run set-parameters devices={bdf} parameters={each.setting.name}=ETH"
        reason = "reboot-policy is manual, and this port may be meant as InfiniBand"
        decide = f"if it is to be Ethernet, name {bdf} in option devices; or {own}"
        held.append(Held(_conversion(each, observed), reason, decide))
    for item in host_steps:
        if isinstance(item, Held):
            held.append(item)
        else:
            run.append(item)
    notes = [finding._replace(severity=min(finding.severity, Severity.WARNING)) for finding in about]
    everything = (*observed.findings, *findings, *notes)
    result = Plan((*run, *last), tuple(held), everything)
    return Plan((), (), everything) if result.blocked else result


def _set_steps(different: Sequence[Verdict], observed: Observed) -> Iterator[HostStep]:
    """One step for what can be set now through a port, and one for what the firmware hides until then.

    Before them, one for each InfiniBand port that becomes Ethernet.
    """
    calls: dict[str, list[Verdict]] = {}
    for verdict in different:
        if verdict.setting.makes:
            yield _conversion(verdict.declared, observed)
        else:
            calls.setdefault(verdict.declared.key, []).append(verdict)
    for key, verdicts in sorted(calls.items(), key=lambda call: call[1][0].found is None):
        settings = tuple(verdict.setting for verdict in verdicts)
        words, bdf = " ".join(map(str, settings)), settings[0].through
        was = ", ".join(_was(verdict) for verdict in verdicts)
        op = changes.SetNextBoot(bdf, settings)
        yield Step(key, f"set {words} on {bdf}", f"the next boot has {was}", Disruption.NONE, op)


def _conversion(each: Declared, observed: Observed) -> HostStep:
    """The step, of its own, that makes an InfiniBand port Ethernet."""
    setting, bdf, port = each.setting, each.setting.through, each.setting.makes
    what = f"make InfiniBand port {port} Ethernet from the next boot on: set {setting} on {bdf}"
    used = observed.infiniband.get(port, "it has no active link, address or user as InfiniBand")
    op = changes.SetNextBoot(bdf, (setting,))
    return Step(each.key, what, used, Disruption.HOST_NETWORK_CUT, op)


def _was(verdict: Verdict) -> str:
    return (verdict.found.next_boot or "nothing") if verdict.found else "it hidden"
