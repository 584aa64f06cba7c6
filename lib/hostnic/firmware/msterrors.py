# SPDX-License-Identifier: Apache-2.0
"""The error messages of mstflint's tools, each as one sentence with a remedy.

The tools report on standard output, in lines that begin with ``-E-`` (mstflint 4.21, 4.26, 4.31, 4.36).
"""

import contextlib
import re
from collections.abc import Callable

from converge import StepError

from hostnic.system import CommandError, NotOwnError, System, read_text

LOCKS = "/tmp/mstflint_lockfiles"  # noqa: S108 - the tools choose it
"""Where each of the tools locks a device against all others, whoever starts them (mtcr_ul_com.c)."""
LOCKDOWN = "/sys/kernel/security/lockdown"
NAME = r"(?:Unknown Parameter:|Failed to find Param .* name) '?([^\s']+)'?"  # the latter since 4.34
LACKS = re.compile(rf"The Device doesn't support (\S+) parameter|{NAME}")
OPEN = "Failed to open the device|Cannot open Device|mopen:"
MAILBOX = "check if NV access registers are supported"
"""mstconfig's first question got no answer (supportsNVData in mlxcfg_generic_commander.cpp)."""

UNKNOWN = "mstflint does not know this device"
LIVEFISH = "the NIC is in livefish mode (flash recovery): it runs without its firmware"
BURN = "burn its vendor's image on the host, then power-cycle; the command is mstflint -d BDF -i IMAGE burn"
HANGS = "did not end within"
"""In the reason of a tool that was stopped at its deadline."""

KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"Livefish",
        LIVEFISH,
        BURN,
    ),
    (
        r"Unsupported device|Device not supported|Unsupported Device|Failed to identify the device",
        UNKNOWN,
        "take it out of option devices, or install a newer mstflint",
    ),
    (
        r"doesn't support any configuration changes|either FW does not support|HW access is disabled|"
        r"-E- Failed to set configuration: .*([Dd]enied|not permitted)",
        "the firmware allows no change of parameters",
        "secure host mode may be on: turn it off with the NIC vendor's tool",
    ),
    (rf"(?P<fact>{NAME}|TLV .* not exist)", "{fact}", "run action query: it shows the names of this NIC"),
    (
        r"(?P<fact>The Device doesn't support \S+ parameter)",
        "{fact}",
        "newer firmware may have it, or another parameter hides it; action query shows what the firmware has",
    ),
    (
        r"-E- (?P<fact>Unknown value .*|Cannot parse the value|The value .* is not valid.*)",
        "{fact}",
        "run action query: it shows how this NIC spells values",
    ),
    (r"-E- (?P<fact>.*larger than maximum allowed.*)", "{fact}", "set a smaller value"),
    (
        r"-E- (?P<fact>.*Illegal constraint)",
        "the values do not go together ({fact})",
        "lower NUM_OF_VFS or NUM_VF_MSIX; all PFs share the NIC's interrupt vectors and BAR space",
    ),
    (r"(?P<fact>Duplicate parameter.*)", "{fact}", "name each parameter once"),
    (
        r"(?P<fact>The Rule TLV configuration \S+ is not supported by FW)",
        "{fact}",
        "update the firmware",
    ),
    (
        MAILBOX,
        "the firmware does not answer",
        "if the next hook says the same, power-cycle the machine: a tool that was killed has its mailbox",
    ),
    (r"semaphore", "another tool holds the NIC's semaphore", "retried at the next hook"),
)
"""Pattern, sentence, remedy; the first pattern that is found counts."""


class MstError(CommandError, StepError):
    """A failure of one of mstflint's tools; ``remedy`` is empty when the tool's own words have to do."""

    def __init__(self, error: CommandError, reason: str, remedy: str = "") -> None:
        super().__init__(error.argv, reason, error.returncode, error.stdout, error.stderr)
        self.remedy = remedy


def lacking(text: str) -> str | None:
    """The parameter that the tool says the device, or its own database, does not have."""
    match = LACKS.search(text)
    return (match.group(1) or match.group(2)).rstrip(".,") if match else None


def locked_down(system: System) -> str:
    """The kernel's lockdown mode, ``integrity`` or ``confidentiality``; empty when there is none.

    Under lockdown (UEFI Secure Boot on Ubuntu) the kernel refuses writes to PCI configuration space,
    which mstflint needs even to read.
    """
    match = re.search(r"\[(\w+)\]", read_text(system, LOCKDOWN) or "")
    return match.group(1) if match and match.group(1) != "none" else ""


def refused(error: MstError) -> bool:
    """Whether the firmware has answered, and said no: to ask again does not help."""
    unreached = f"{OPEN}|{MAILBOX}|semaphore|Livefish"
    return "-E-" in error.stdout and not re.search(unreached, f"{error.stdout}\n{error.stderr}")


def run(system: System, how: Callable[..., str], argv: list[str], timeout: float = 60.0) -> str:
    """Run one of the tools and return its output; ``how`` runs it: the system's ``query`` or ``run``.

    The tools make their locks in a directory that anybody could have made before them, and follow links in
    it: root would make files wherever these lead.

    Raises MstError if others than root can write the locks' directory, so that nothing was started; or the
    tool failed.
    """
    try:
        with contextlib.suppress(FileNotFoundError):  # the tool makes it
            system.files.check_own(LOCKS)
    except NotOwnError as error:
        unstarted = CommandError(argv, f"{argv[0]} is not started: {error}")
        raise MstError(unstarted, unstarted.reason, f"run rm -r {LOCKS}") from error
    try:
        return how(argv, timeout=timeout)
    except CommandError as error:
        raise explain(system, error) from error


def explain(system: System, error: CommandError) -> MstError:
    """The tool's failure in one sentence."""
    return MstError(error, *_words(system, error))


def _words(system: System, error: CommandError) -> tuple[str, str]:
    """Sentence and remedy."""
    tool, said = error.argv[0], f"{error.stdout}\n{error.stderr}"
    if error.reason == f"{tool} is not installed":
        return error.reason, "see juju debug-log for what apt-get said, or install it by hand"
    if HANGS in error.reason and tool.startswith("mst"):
        remedy = "see the kernel log for this NIC; if the next hook says the same, power-cycle the machine"
        return error.reason, remedy
    if re.search(f"{OPEN}|semaphore", said) and (mode := locked_down(system)):
        reason = f"the kernel is locked down ({mode}, Secure Boot), which keeps mstflint from the NIC"
        remedy = "install mstflint-dkms with its key enrolled; or set the parameters before Secure Boot is on"
        return reason, remedy
    for pattern, reason, remedy in KNOWN:
        if match := re.search(pattern, said):
            return f"{tool}: {reason.format(**match.groupdict())}", remedy
    errors = [line.partition("-E-")[2].strip(" .") for line in said.splitlines() if "-E-" in line]
    first = errors[0] if errors else ""
    if re.search(OPEN, said):
        remedy = "see the kernel log for this NIC; it may have vanished from the bus"
        return f"{tool}: {first or 'the device does not open'}", remedy
    again = f"for all that it says, run on the host: {' '.join(error.argv)}" if "query" in error.argv else ""
    return f"{tool}: {first}" if first else error.reason, again
