# SPDX-License-Identifier: Apache-2.0
"""From desired and observed state to the steps that set and burn, and those that wait for a restart. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from converge import Disruption, Finding, Held, Plan, Severity, Step
from desired import Desired, Setting, State, chosen_nics, states
from hostnic.devices.port import Nic
from hostnic.system import HostStep, System
from nic import burning, changes, ethernet
from nic.activation import given_up, held_reboot
from observed import Answer, Observed
from preflight import preflight


def plan(
    wanted: Desired,
    observed: Observed,
    findings: Sequence[Finding] = (),
    host_steps: Iterable[HostStep | Held[System]] = (),
    release: str = changes.RELEASE,
) -> Plan[System]:
    """The steps that bring the firmware to ``wanted``, what waits, and what prevents it.

    A NIC that preflight blocks or holds is left alone; the others are planned.

    ``findings`` are those of the selection and the survey: a blocking one blocks the whole plan.
    ``host_steps`` are for the host's side of the profile gpudirect (gpu.py). ``release`` is what the operator
    does to have the reboot, in words.
    """
    run, held = list[HostStep](), list[Held[System]]()
    last = list[HostStep]()  # a burn that fails must not keep anything else from being set
    troubled = preflight(wanted, observed)
    about = [finding for each in troubled.values() for finding in each]
    for nic in chosen_nics(wanted, observed):
        trouble = troubled.get(nic.slot, ())
        if any(finding.severity >= Severity.HELD for finding in trouble):
            continue
        steps = [step for port in nic.ports for step in _set_steps(nic, port.bdf, wanted, observed)]
        burns, said = burning.steps([nic], observed)
        about += said
        run += steps
        last += burns
        reboot = held_reboot(nic, wanted, observed, burns=bool(burns), release=release)
        held += [reboot] if reboot else []
    held += _undecided(wanted, observed)
    for item in host_steps:
        if isinstance(item, Held):
            held.append(item)
        else:
            run.append(item)
    notes = [finding._replace(severity=min(finding.severity, Severity.WARNING)) for finding in about]
    everything = (*observed.findings, *findings, *notes)
    result = Plan((*run, *last), tuple(held), everything)
    return Plan((), (), everything) if result.blocked else result


def _set_steps(nic: Nic, bdf: str, wanted: Desired, observed: Observed) -> Iterator[HostStep]:
    """One step for what can be set now, and one for parameters that the firmware hides until then.

    Before them, one for each InfiniBand port that becomes Ethernet.
    """
    found = (setting for setting, state in states(bdf, wanted, observed) if state is State.SET)
    different = [setting for setting in found if not given_up(bdf, setting, wanted, observed)]
    for setting in different:
        if port := ethernet.makes_ethernet(nic, setting):
            yield _conversion(bdf, port.bdf, setting, observed)
    different = [setting for setting in different if not ethernet.makes_ethernet(nic, setting)]
    answer = observed.answers.get(bdf, Answer())
    later = [s for s in different if s.name not in answer.parameters]
    now = [s for s in different if s not in later]
    for name, settings in (("parameters", now), ("hidden-parameters", later)):
        if settings:
            words = " ".join(str(setting) for setting in settings)
            was = ", ".join(_was(setting, answer) for setting in settings)
            op = changes.SetNextBoot(bdf, tuple(settings))
            what, why = f"set {words} on {bdf}", f"the next boot has {was}"
            yield Step(f"{bdf}/{name}", what, why, Disruption.NONE, op)


def _conversion(bdf: str, port: str, setting: Setting, observed: Observed) -> HostStep:
    """The step, of its own, that makes an InfiniBand port Ethernet; it is set through the port ``bdf``."""
    what = f"make InfiniBand port {port} Ethernet from the next boot on: set {setting} on {bdf}"
    used = observed.infiniband.get(port, "it has no active link, address or user as InfiniBand")
    return Step(
        f"{port}/ethernet", what, used, Disruption.HOST_NETWORK_CUT, changes.SetNextBoot(bdf, (setting,))
    )


def _undecided(wanted: Desired, observed: Observed) -> Iterator[Held[System]]:
    for bdf, setting in wanted.undecided.items():
        parameter = observed.answers.get(bdf, Answer()).parameters.get(setting.name)
        if parameter and not setting.matches(parameter.next_boot):
            own = f"run set-parameters devices={bdf} parameters={setting.name}=ETH"
            release = f"if it is to be Ethernet, name {bdf} in option devices; or {own}"
            reason = "reboot-policy is manual, and this port may be meant as InfiniBand"
            yield Held(_conversion(bdf, bdf, setting, observed), reason, release)


def _was(setting: Setting, answer: Answer) -> str:
    parameter = answer.parameters.get(setting.name)
    return (parameter.next_boot or "nothing") if parameter else "it hidden"
