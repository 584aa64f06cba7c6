# SPDX-License-Identifier: Apache-2.0
"""Runs cases of NVIDIA's ovs-tests on the virtual card; the user clones them, and none of them is here.

https://github.com/Mellanox/ovs-tests has no licence file: a case is known here by its name alone.
"""

import io
import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.calibrate.shell import PREPARE, GuestShell, find
from lab.guest import Guest, GuestError

CASES = Path(__file__).with_name("ovstests.json")
TABLE = Path(__file__).with_name("ovs-tests.md")
COMMON = "common.sh"
PLACE = "/opt/ovs-tests"
LONGEST = 900.0
"""Seconds for one case."""

TOOLS = """
ln -sf "$(command -v mstconfig)" /usr/local/bin/mlxconfig
cat >/usr/bin/mlnx_qos <<'END'
#!/bin/sh
# As MLNX_OFED's "mlnx_qos -i DEVICE --trust dscp|pcp", with iproute2's dcb.
[ "$1" = -i ] && [ "$3" = --trust ] || exit 2
if [ "$4" = dscp ]; then dcb app replace dev "$2" dscp-prio 0:0; else dcb app flush dev "$2" dscp-prio; fi
END
cat >/usr/local/bin/representor-name <<'END'
#!/bin/sh
# usage: representor-name UPLINK PHYS_PORT_NAME
echo "$1_${2##*vf}"
END
cat >/usr/local/bin/mlxfwreset <<'END'
#!/bin/sh
# The virtual card has no reset: what a case sets counts from the next boot on.
END
cat >/usr/local/bin/timeout <<'END'
#!/bin/sh
# What takes a second on a server may take many in an emulated guest.
limit=$1
shift
exec /usr/bin/timeout "$(echo "$limit * 30" | bc)" "$@"
END
chmod +x /usr/bin/mlnx_qos /usr/local/bin/{mlxfwreset,representor-name,timeout}
for port in 0 1; do
    pf=PF$port net=NET$port
    cat <<END
SUBSYSTEM=="net", ACTION=="add", KERNELS=="${!pf}", ATTR{phys_port_name}=="pf${port}vf*", \\
  PROGRAM="/usr/local/bin/representor-name ${!net} \\$attr{phys_port_name}", NAME="%c"
END
done >/etc/udev/rules.d/75-representors.rules
"""
"""The cases' commands by the names that NVIDIA's own packages give them; for a guest, which is thrown away.

A representor is named after its uplink, with the VF's number: ``enp59s0f0np0_1``.
"""

CONFIG = """
modprobe -a bonding vxlan cls_flower act_mirred act_gact act_tunnel_key
mkdir -p /run/udev/rules.d
: >/run/udev/rules.d/99-systemd.rules
udevadm control --reload
pf=$(pci $PF0)
echo 2 >$pf/sriov_numvfs
udevadm settle
vfs=($pf/virtfn*/net/*)
echo 0 >$pf/sriov_numvfs
cat >{place}/config.sh <<END
NIC=$NET0
NIC2=$NET1
VF=${{vfs[0]##*/}}
VF1=${{vfs[0]##*/}}
VF2=${{vfs[1]##*/}}
REP=${{NET0}}_0
REP2=${{NET0}}_1
END
udevadm settle
[ -e $pf/net/$NET0 ] && ! grep "[*]" {place}/config.sh
"""
"""The cases' configuration of their host: the netdevs' names.

systemd makes no units for netdevs: nobody needs them here, and an emulated guest would be busy with them.
"""

FIRMWARE = "NUM_OF_VFS=32"
"""The settings of mstconfig that most cases need."""


class OvsTestsError(RuntimeError):
    """The folder is no clone of ovs-tests; one sentence that says what to do."""


@dataclass(frozen=True)
class Case:
    """One case of ovs-tests.

    Attributes:
        case: its file's name, without the suffix.
        differs: why the virtual card does not pass it on purpose; empty if it has to.
        left_out: why it cannot run in a guest of this machine, and is not tried; empty if it can.
        firmware: the settings of mstconfig that the card has when the case begins.

    """

    case: str
    differs: str = ""
    left_out: str = ""
    firmware: str = FIRMWARE


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case.

    Attributes:
        case: which.
        status: its exit status; None if it did not end, or was not run.
        output: what it printed; never kept in the table.
        seconds: that it took.

    """

    case: Case
    status: int | None
    output: str
    seconds: float

    @property
    def passed(self) -> bool:
        return self.status == 0

    @property
    def expected(self) -> bool:
        """As the list of cases says."""
        return bool(self.case.left_out) or self.passed == (not self.case.differs)

    @property
    def word(self) -> str:
        """For the table."""
        if self.case.left_out:
            return "not run"
        if self.status is None:
            return "does not end"
        return "passes" if self.passed else "fails"

    @property
    def reason(self) -> str:
        """For the table; empty where none is needed."""
        return self.case.left_out or self.case.differs or ("" if self.passed else "unexpected")


def cases(path: Path = CASES) -> list[Case]:
    """The committed list."""
    return [Case(**each) for each in json.loads(path.read_text())]


def revision(folder: Path) -> str:
    """The commit that the clone is at, with "(changed)" if its files differ from that.

    Raises:
        OvsTestsError: the folder is no clone, or there is no git.

    """
    if not (folder / COMMON).is_file():
        raise OvsTestsError(
            f"{folder} has no {COMMON}: clone https://github.com/Mellanox/ovs-tests and name that folder"
        )
    if not (git := shutil.which("git")):
        raise OvsTestsError("git is not installed; it tells the revision of ovs-tests")
    said = []
    for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        done = subprocess.run([git, "-C", str(folder), *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OvsTestsError(f"{folder} is no clone of ovs-tests: {done.stderr.strip()}")
        said.append(done.stdout.strip())
    return f"{said[0]} (changed)" if said[1] else said[0]


def packed(folder: Path) -> bytes:
    """The scripts of the folder itself, which is all that the cases need, as a tar archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for path in sorted(folder.iterdir()):
            if path.suffix in (".sh", ".py") and path.is_file():
                tar.add(path, path.name)
    return archive.getvalue()


def install(guest: Guest, folder: Path) -> None:
    """Unpack the cases in a guest, and what they call."""
    guest.write(f"{PLACE}/scripts.tgz", packed(folder))
    guest.run(f"cd {PLACE} && tar -xzf scripts.tgz && rm scripts.tgz")
    scripted(guest, TOOLS)


def begin(guest: Guest, firmware: str) -> None:
    """Make the settings of the firmware current, and write the configuration file that the cases want."""
    guest.run(f"mstconfig -y -d 3b:00.0 set {firmware}")
    guest.reboot()
    guest.run(PREPARE)
    scripted(guest, CONFIG.format(place=PLACE))


def scripted(guest: Guest, script: str) -> None:
    """Run a script of bash that knows the card's names."""
    done = find(GuestShell(guest)).run(script)
    if done.returncode:
        raise GuestError(f"the guest is not ready for ovs-tests: {done.stdout}{done.stderr}")


def run(guest: Guest, case: Case) -> Outcome:
    """Run one case, as its authors do: with the configuration's place in the environment."""
    began = time.monotonic()
    ended = f"exec /usr/bin/timeout {LONGEST:.0f} bash ./{case.case}.sh 2>&1"
    script = f"cd {PLACE} && CONFIG={PLACE}/config.sh {ended}"
    try:
        done = guest.run(["bash", "-c", script], check=False, timeout=LONGEST + 60)
        status: int | None = None if done.returncode == 124 else done.returncode
        output = done.stdout
    except GuestError as problem:  # it may have taken the guest down
        status, output = None, str(problem)
    return Outcome(case, status, output, time.monotonic() - began)


def run_all(guest: Guest, chosen: Iterable[Case], told: Callable[[str], None]) -> list[Outcome]:
    """Run cases, each in a guest that was just booted with the firmware's settings that it needs."""
    guest.save("ovs-tests")
    snapshots: dict[str, str] = {}
    found = []
    for case in chosen:
        if case.left_out:
            found.append(Outcome(case, None, "", 0.0))
            continue
        told(case.case)
        if case.firmware in snapshots:
            guest.load(snapshots[case.firmware])
        else:
            guest.load("ovs-tests")
            begin(guest, case.firmware)
            guest.save(snapshots.setdefault(case.firmware, f"ovs-tests-{len(snapshots)}"))
        found.append(run(guest, case))
    return found


def table(outcomes: Iterable[Outcome], of: str, card: str) -> str:
    """Return the text of the committed file."""
    rows = [f"| `{each.case.case}` | {each.word} | {each.reason} |" for each in outcomes]
    return "\n".join(
        [
            "# NVIDIA's ovs-tests on the virtual card",
            "",
            "Written by `pipx run tox -e calibrate -- --ovs-tests FOLDER`, from what",
            "[ovstests.json](ovstests.json) has of cases and reasons.",
            "",
            f"- ovs-tests: revision {of}",
            f"- card: {card}",
            "",
            "| case | result | why it differs on purpose, or is not run |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )
