# SPDX-License-Identifier: Apache-2.0
"""The same steps while MAAS commissions a machine, so that its firmware is right before it is deployed.

``tox -e commissioning`` makes one self-contained script of this module and what it imports. MAAS reads the
metadata at its top, the exit code, and the file that ``RESULT_PATH`` names. The machine is powered off after
commissioning, so what is set for the next boot is active when it is deployed.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from config import Options
from converge import Finding, Severity
from converge.execute import execute
from converge.render import findings_as_table, plan_as_table, with_differences
from converge.shape import InvalidValue
from hostnic.devices.pci import MAX_VFS
from hostnic.firmware import mstdatabase
from hostnic.firmware.mstdatabase import Database
from hostnic.firmware.msterrors import LIVEFISH
from hostnic.machine import Machine
from hostnic.ops.refusal import unreadable
from hostnic.system import System
from nic import networkboot
from nic.changes import RELEASE
from nic.judge import judge
from observe import ask, ask_ports, observe
from observed import Observed
from plan import plan
from record import Record
from selection import possible, resolve
from verify import verify

METADATA = """\
# --- Start MAAS 1.0 script metadata ---
# name: 50-nic-firmware
# title: Firmware parameters of ConnectX NICs
# description: Sets SR-IOV, the number of VFs and further firmware parameters of ConnectX NICs
# script_type: commissioning
# hardware_type: network
# parallel: disabled
# may_reboot: false
# timeout: 00:20:00
# packages: {apt: mstflint}
# parameters:
#   devices:
#     type: string
#     description: auto, or the NICs to set, by PCI address or netdev; InfiniBand in use only if named
#     default: auto
#     argument_format: --devices={input}
#   profile:
#     type: string
#     description: Sets of parameters, a comma list of ovn-offload, gpudirect, throughput, network-boot
#     default: ovn-offload
#     argument_format: --profile={input}
#   num_vfs:
#     type: string
#     description: VFs per port that the firmware is to offer
#     default: "8"
#     argument_format: --num-vfs={input}
#   parameters:
#     type: string
#     description: Further parameters as NAME=value words
#     required: false
#     argument_format: --parameters={input}
#   allow_ethernet_loss:
#     type: string
#     description: true to let parameters take Ethernet from a port that this machine uses, else false
#     default: "false"
#     argument_format: --allow-ethernet-loss={input}
# --- End MAAS 1.0 script metadata ---
"""
RESULT = "RESULT_PATH"


def main(arguments: Sequence[str]) -> int:
    """Run; the exit code is 0 for passed or skipped, 1 for failed, 2 for wrong parameters."""
    parser = argparse.ArgumentParser(description="Set firmware parameters of ConnectX NICs for the next boot")
    parser.add_argument("--devices", default="auto")
    parser.add_argument("--profile", default="ovn-offload")
    parser.add_argument("--num-vfs", default="8")
    parser.add_argument("--parameters", default="")
    parser.add_argument("--allow-ethernet-loss", default="false")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and write nothing")
    given = parser.parse_args(arguments)
    try:
        options = Options(
            devices=given.devices,
            profile=given.profile,
            num_vfs=_number(given.num_vfs),
            parameters=given.parameters,
            allow_ethernet_loss=_flag(given.allow_ethernet_loss),
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    system = Machine()
    try:
        status, results = commission(
            system, mstdatabase.read(), options, machine=platform.machine(), dry_run=given.dry_run
        )
    except OSError as error:
        status, results = "failed", {"left": unreadable(error)}
        print(results["left"], file=sys.stderr)
    if os.environ.get(RESULT):
        text = json.dumps({"status": status, "results": results})  # MAAS reads YAML, of which JSON is a part
        system.files.install(os.environ[RESULT], text.encode())
    return 1 if status == "failed" else 0


def commission(
    system: System, database: Database, options: Options, *, machine: str = "x86_64", dry_run: bool = False
) -> tuple[str, Mapping[str, str]]:
    """Bring every NIC's next boot to what the options declare.

    ``machine`` is its architecture as uname calls it. Returns MAAS's status (``passed``, ``failed``,
    ``skipped``), and the results to show with it.
    """
    observed = _look(system)
    if not observed.nics:
        print("This machine has no Mellanox NIC.")
        return "skipped", {"nics": "none"}
    # No reboot interrupts anything here: MAAS powers the machine off before anybody uses it.
    options = replace(options, reboot_policy="always")
    wanted = resolve(options, observed, (), database)
    observed = ask(system, observed, wanted)
    wanted = possible(wanted, observed, options.selected)
    judgement = judge(wanted, observed)
    planned = plan(judgement, observed, wanted.findings)
    found = verify(judgement, observed, planned, RELEASE)
    print(plan_as_table(with_differences(planned, found)))
    failures: list[Finding] = [f for f in planned.findings if f.severity is Severity.BLOCKED]
    if not dry_run and not failures:
        outcome = execute(planned, system, lambda step: print(f"{step.what}: {step.why}", flush=True))
        failures += [outcome.finding] if outcome.finding else []
        observed = ask(system, _look(system), wanted)
        judgement = judge(wanted, observed)
        planned = plan(judgement, observed, wanted.findings)
        found = verify(judgement, observed, planned, RELEASE)
        failures += [f for f in found if f.severity >= Severity.WAITING]
    elif dry_run:
        # A hook leaves a NIC in flash recovery to the operator; a new machine with one is not ready.
        failures += [f for f in found if f.severity is Severity.BLOCKED or LIVEFISH in f.what]
    unique = tuple(dict.fromkeys(failures))
    asked = {port.bdf: networkboot.NAMES for nic in observed.nics for port in nic.ports}
    driver = networkboot.UEFI.get(machine, "") if system.files.exists("/sys/firmware/efi") else ""
    bootless = [*networkboot.off(observed.nics, ask_ports(system, observed.nics, asked), driver)]
    if shown := (*unique, *bootless):
        print(f"\n{findings_as_table(shown)}")
    nics = ", ".join(nic.short for nic in observed.nics)
    left = "; ".join(finding.sentence() for finding in unique)
    boot = "; ".join(finding.sentence() for finding in bootless)
    results = {"nics": nics, "left": left or "nothing", "network-boot": boot or "no warning"}
    return ("failed" if unique else "passed"), results


def _look(system: System) -> Observed:
    """The NICs, without the record of earlier restarts: MAAS powers the machine off after this."""
    return observe(system)._replace(record=Record())


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise InvalidValue("num-vfs", text, f"a whole number from 1 to {MAX_VFS}")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise InvalidValue("allow-ethernet-loss", text, "true or false")
    return text == "true"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
