# SPDX-License-Identifier: Apache-2.0
"""The actions other than plan and verify."""

from collections.abc import Callable, Iterator, Mapping

import choice
import images
import record
import selection
from charmkit.output import Output, Table
from charmkit.reconcile import ActionError
from choice import Chosen
from config import Backup, BurnImages, Devices, Options, Query, ResetParameters, Restore, SetParameters
from converge import Finding, Plan, Severity
from converge.execute import execute
from desired import Desired, Setting
from hostnic import handover
from hostnic.devices.inventory import BLUEFIELD
from hostnic.devices.port import Nic
from hostnic.devices.selector import Entry, parse
from hostnic.firmware import mstconfig
from hostnic.firmware.mstdatabase import Database
from hostnic.firmware.mstflint import Flash
from hostnic.ops import files
from hostnic.system import System
from nic import before, burning, ethernet
from nic.activation import POWER_CYCLE
from nic.changes import RELEASE
from nic.judge import IS_SET, Judgement, Outcome, judge, losses
from observe import GIVEN_BACK, NAME, ask, ask_ports, observe, read_flashes
from observed import FirmwareAnswer, Observed
from plan import plan
from verify import verify

Results = dict[str, str]
"""An action's results."""

RESTART = "active after the host's next restart, which is requested only for values that an option declares"


def devices(wanted: Desired, observed: Observed) -> Table:
    """Every port: what it is, who uses it, and whether hooks select it."""
    rows = [
        {
            "port": port.bdf,
            "netdev": port.netdev or "-",
            "device": port.device,
            "driver": port.driver or "-",
            "member of": port.bond or port.bridge or "-",
            "vfs": str(port.num_vfs),
            "offered": str(port.total_vfs),
            "selected": "yes" if port.bdf in wanted.ports else "no",
        }
        for nic in observed.nics
        for port in nic.ports
    ]
    return Table(rows, "This host has no Mellanox NIC.")


class Actions:
    """The other actions of one unit."""

    def __init__(self, system: System, database: Database, options: Options) -> None:
        self._system = system
        self._database = database
        self._options = options

    def list_firmware(self, given: Output, resource: str | None) -> Results:
        """Every NIC: its board, the firmware that runs, that in flash, and that of the image for it."""
        nics = observe(self._system).nics
        versions = {each.psid: each.version for each in images.cached(self._system, self._options, resource)}
        rows = [
            {"nic": nic.slot, **_firmware(flash, versions)}
            for nic, flash in zip(nics, read_flashes(self._system, nics).values())
        ]
        return {"firmware": Table(rows, "This host has no Mellanox NIC.").shown(given.format)}

    def query(self, given: Query) -> Results:
        """All parameters that the firmware has: default, current, next boot; differences marked."""
        rows = [
            {
                "port": bdf,
                "parameter": name,
                "default": parameter.default or "-",
                "current": parameter.current or "-",
                "next boot": parameter.next_boot or "-",
                "differs": _differs(parameter),
            }
            for bdf, answer in self._answers(self._all(given)).items()
            for name, parameter in answer.parameters.items()
        ]
        return {"parameters": Table(rows, "No parameter.").shown(given.format)}

    def set_parameters(self, given: SetParameters) -> Results:
        """Set parameters once. Those that an option sets are refused: the next hook would set them back."""
        chosen = self._chosen(parse(given.devices))
        declared = self._declared(chosen)
        for name in given.settings:
            if name in declared:
                raise ActionError(_set_back(declared[name]))
        return self._set(selection.explicit(given.settings, chosen, self._database, "parameters"))

    def reset_parameters(self, given: ResetParameters) -> Results:
        """Every parameter of a NIC back to its default; what is declared is set again by the next hook."""
        chosen = self._chosen(parse(given.devices))
        nics = chosen.nics
        slots = ", ".join(nic.short for nic in nics)
        if not given.confirm:
            raise ActionError(f"this resets all parameters of {slots}: run it again with confirm=true")
        for nic in nics:
            if nic.ports[0].device in BLUEFIELD:
                raise ActionError(
                    f"{nic.short} is a BlueField, whose reset may switch it from NIC to DPU mode; "
                    "set single parameters with set-parameters"
                )
        self._refuse_losses(chosen)
        cold = False
        for bdf, found in self._answers(nics).items():
            before.keep(self._system, bdf, found.parameters)
        for nic in nics:
            known = record.read(self._system)
            for port in nic.ports:  # what it undoes is no set that was lost
                known = known.without_attempts(port.bdf, "")
            record.write(self._system, known)
            cold = mstconfig.reset(self._system, nic.ports[0].bdf) or cold
        how = POWER_CYCLE if cold else "a restart applies it"
        return {"reset": slots, "then": f"the next hook sets what is declared; {how}"}

    def backup(self, given: Backup) -> Results:
        """Return the next boot's settings, by port, as lines that ``restore`` takes; or the former ones."""
        nics = self._all(given)
        if given.before:
            return {_key(port.bdf): self._before(port.bdf) for nic in nics for port in nic.ports}
        answers = self._answers(nics)
        return {_key(bdf): f"# {bdf}\n{mstconfig.backup(found.parameters)}" for bdf, found in answers.items()}

    def restore(self, given: Restore) -> Results:
        """Set the values of a backup that differ, on the NIC of one port.

        Those that an option declares otherwise are left out: the next hook would set them back.
        """
        if given.before:
            return self._give_back(given)
        try:
            saved = mstconfig.parse_backup(given.backup)
        except ValueError as error:
            raise ActionError(f"backup: {error}") from None
        if not saved:
            raise ActionError("backup: it has no NAME=value line")
        chosen = self._chosen(parse(given.device))
        declared = self._declared(chosen)
        meant = selection.explicit(saved, chosen, self._database, "backup")
        values = {name: str(each.value) for of_port in meant.ports.values() for name, each in of_port.items()}
        both = declared.keys() & values.keys()
        left = [declared[name] for name in saved if name in both and not declared[name].matches(values[name])]
        stay = {*(each.name for each in left), *given.keep.split()}
        kept = {name: text for name, text in saved.items() if name not in stay}
        if not kept and left:
            raise ActionError(_set_back(left[0]))
        words = "; ".join(f"{each.name}={saved[each.name]}: {each.source} sets {each.value}" for each in left)
        done = self._set(selection.explicit(kept, chosen, self._database, "backup"))
        return {**done, "left-out": words or "none"}

    def _before(self, bdf: str) -> str:
        flash = before.flash(self._system, bdf)
        lines = [f"# {bdf}", *([f"# flash had {flash}"] if flash else [])]
        lines += [f"{name}={value}" for name, value in sorted(before.of_port(self._system, bdf).items())]
        return "".join(f"{line}\n" for line in lines)

    def _give_back(self, given: Restore) -> Results:
        """Set what NICs had before this charm, and have hooks leave that alone until the next boot.

        A value that would take Ethernet from a port in use is left out, as are those of ``keep``. What is
        hidden by a gate that was closed has no effect, and is not set.
        """
        nics = self._all(Devices(given.device))
        whole = {nic.slot: nic for nic in observe(self._system).nics}
        answers, ports = self._answers(nics), dict[str, dict[str, Setting]]()
        for slot, port in ((nic.slot, port) for nic in nics for port in nic.ports):
            kept = before.of_port(self._system, port.bdf)
            found = before.differing(kept, answers[port.bdf].parameters, given.keep.split())
            settings = (Setting(name, int(value), "backup", optional=True) for name, value in found.items())
            ports[port.bdf] = {
                each.name: ethernet.placed(whole[slot], port.bdf, each)
                for each in settings
                if kept.get(self._database.gate(each.name)) != "0"
            }
        wanted = Desired(ports, ethernet_may_go=self._options.allow_ethernet_loss)
        observed = ask(self._system, observe(self._system), wanted)
        lost = {
            verdict.setting.name: finding.sentence()
            for judged in judge(wanted, observed).nics
            for verdict in judged.verdicts
            for finding in losses([verdict], observed)
        }
        ports = {
            bdf: {name: s for name, s in each.items() if name not in lost} for bdf, each in ports.items()
        }
        files.write_own(self._system, GIVEN_BACK, "", str)
        done = self._set(wanted._replace(ports=ports))
        return {**done, "left-out": "; ".join(lost.values()) or "none"}

    def burn(self, given: BurnImages, resource: str | None, progress: Callable[[str], None]) -> Results:
        """Burn the image into each of these NICs whose flash has another version; log the progress."""
        if self._options.firmware_policy == "never":
            raise ActionError("option firmware-policy is never: set it to action or auto")
        nics = self._chosen(parse(given.devices)).nics
        try:
            found = images.fetch(self._system, self._options, resource)
        except images.UnfinishedError as error:
            again = "run the action again, which continues the download"
            raise ActionError(f"download of firmware: {error.reason}; {again}") from error
        if not found:
            raise ActionError("there is no image: set firmware-url and firmware-sha256, or attach one")
        flashes = read_flashes(self._system, nics)
        observed = observe(self._system)._replace(images=found, flashes=flashes)
        todo, findings = burning.steps(nics, observed, asked=True, older=given.allow_older, progress=progress)
        if findings and not todo:
            raise ActionError(findings[0].sentence())
        kept = before.kept_first(self._system, Plan(tuple(todo)))
        outcome = execute(kept, self._system, lambda step: progress(f"{step.what}: {step.why}"))
        if outcome.finding:
            raise ActionError(outcome.finding.sentence())
        return {
            "burned": "; ".join(step.what for step in outcome.done if not isinstance(step.op, before.Keep))
            or "nothing: flash has this version",
            "left-alone": "; ".join(finding.sentence() for finding in findings) or "none",
        }

    def _declared(self, chosen: Chosen) -> dict[str, Setting]:
        """Return the declarations of the options and other charms for these NICs, by name."""
        others, _ = handover.read_others(self._system, NAME)
        observed = observe(self._system)._replace(nics=chosen.nics)
        declared = selection.resolve(self._options, observed, others, self._database)
        return {name: each for settings in declared.ports.values() for name, each in settings.items()}

    def _refuse_losses(self, chosen: Chosen) -> None:
        """Refuse defaults that would take its link from a port that is in use.

        The LINK_TYPE of many VPI NICs is InfiniBand by default.
        """
        ports: dict[str, dict[str, Setting]] = {}
        for bdf, answer in self._answers(chosen.nics).items():
            nic = chosen.whole[bdf.rpartition(".")[0]]
            defaults = (ethernet.placed(nic, bdf, each) for each in _guarded_defaults(answer))
            ports[bdf] = {setting.name: setting for setting in defaults}
        wanted = Desired(ports, ethernet_may_go=self._options.allow_ethernet_loss, named=chosen.named)
        observed = ask(self._system, observe(self._system), wanted)
        for judged in judge(wanted, observed).nics:
            for finding in losses(judged.verdicts, observed):
                raise ActionError(finding.sentence())

    def _set(self, wanted: Desired) -> Results:
        wanted = wanted._replace(ethernet_may_go=self._options.allow_ethernet_loss)
        observed = ask(self._system, observe(self._system), wanted)
        judgement = judge(wanted, observed)
        planned = plan(judgement, observed, wanted.findings)
        if worst := _worst(judgement, observed, planned, wanted.findings):
            raise ActionError(worst)
        outcome = execute(before.kept_first(self._system, planned), self._system)
        if outcome.finding:
            raise ActionError(outcome.finding.sentence())
        done = "; ".join(step.what for step in outcome.done if not isinstance(step.op, before.Keep))
        return {
            "done": done or "nothing to do: the next boot already has these values",
            "then": _activation(judge(wanted, ask(self._system, observe(self._system), wanted))),
        }

    def _chosen(self, entries: tuple[Entry, ...]) -> Chosen:
        """The NICs without InfiniBand ports that are not named; refused if none is left."""
        observed = observe(self._system)
        return _refuse_nothing(choice.choose(entries, observed.nics, observed.infiniband))

    def _all(self, given: Devices) -> tuple[Nic, ...]:
        """The NICs with all of their ports, for reading."""
        entries, nics = parse(given.devices), observe(self._system).nics
        return _refuse_nothing(choice.choose(entries, nics, {}, convert=True)).nics

    def _answers(self, nics: tuple[Nic, ...]) -> Mapping[str, FirmwareAnswer]:
        """All parameters of each port; refused if one of the ports does not answer."""
        answers = ask_ports(self._system, nics, {port.bdf: () for nic in nics for port in nic.ports})
        for bdf, answer in answers.items():
            if answer.reason:
                raise ActionError(Finding(Severity.BLOCKED, bdf, answer.reason, answer.remedy).sentence())
        return answers


def _set_back(setting: Setting) -> str:
    return f"{setting.name} is set by {setting.source}, and would be set back; change it there"


def _refuse_nothing(chosen: Chosen) -> Chosen:
    blocked = (finding for finding in chosen.findings if finding.severity is Severity.BLOCKED)
    why = next(blocked, None) or (None if chosen.nics else next(iter(chosen.findings), None))
    if why or not chosen.nics:
        raise ActionError(
            why.sentence() if why else "every NIC is InfiniBand; name one of its ports in devices"
        )
    return chosen


def _worst(
    judgement: Judgement, observed: Observed, planned: Plan[System], findings: tuple[Finding, ...]
) -> str:
    """The first blocking finding, as a sentence; empty when there is none."""
    troubled = (finding for judged in judgement.nics for finding in judged.findings)
    everything = (*findings, *troubled, *verify(judgement, observed, planned, RELEASE))
    return next((f.sentence() for f in everything if f.severity is Severity.BLOCKED), "")


def _activation(judgement: Judgement) -> str:
    """Tell how the values that were set become active: an action requests no reboot."""
    waits: dict[str, list[str]] = {}
    for verdict in (verdict for judged in judgement.nics for verdict in judged.verdicts):
        if verdict.outcome in IS_SET:
            how = POWER_CYCLE if verdict.outcome is Outcome.UNAPPLIED else RESTART
            waits.setdefault(how, []).append(verdict.setting.name)
    said = (f"{', '.join(sorted(set(names)))}: {how}" for how, names in waits.items())
    return "; ".join(said) or "nothing: these values are active"


def _guarded_defaults(answer: FirmwareAnswer) -> Iterator[Setting]:
    """The defaults of parameters that can take Ethernet from a port."""
    for name, parameter in answer.parameters.items():
        value = mstconfig.number(parameter.default)
        if value is not None and ethernet.guards(name):
            yield Setting(name, value, "its default")


def _key(bdf: str) -> str:
    """The name of a result: Juju allows no colon and no dot in it."""
    return f"backup-{bdf.replace(':', '-').replace('.', '-')}"


def _differs(parameter: mstconfig.Parameter) -> str:
    if parameter.current != parameter.next_boot:
        return "next boot"
    return "default" if parameter.default is not None and parameter.default != parameter.current else ""


def _firmware(flash: Flash | str, versions: Mapping[str, str]) -> dict[str, str]:
    """A row of ``list-firmware``; ``versions`` are those of the images, by PSID."""
    if isinstance(flash, str):
        return {"psid": "-", "running": "-", "flash": flash, "image": "-"}
    image = versions.get(flash.psid, "-")
    return {"psid": flash.psid or "-", "running": flash.running, "flash": flash.version, "image": image}
