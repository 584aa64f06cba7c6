# SPDX-License-Identifier: Apache-2.0
"""Time the boot units' work on the card against a shell script of the same writes.

Runs in the guest, on a converged node. The shell script is made from the writes that the boot units traced,
so that both do the same to the same card. Both start from two plain PFs in no bond, with udev done and,
before VFs are bound, VF-LAG active: neither is timed while it waits for others. What the units take where all
is done already (Python's start, a look at the host) is timed, too. Prints one JSON object.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 3
SYSFS = Path("/sys/bus/pci/devices")
DEBUGFS = Path("/sys/kernel/debug/mlx5")
LAG_DEADLINE = 60.0
PHASES = ("early", "bind")


def run(*command: str, environment: dict[str, str] | None = None) -> None:
    """Run a command; its output is shown when it fails."""
    done = subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}: {done.stdout[-1000:]}{done.stderr[-1000:]}")


def timed(*command: str, environment: dict[str, str] | None = None) -> float:
    """Seconds that a command takes."""
    began = time.monotonic()
    run(*command, environment=environment)
    return time.monotonic() - began


def started(phase: str) -> list[str]:
    """The command that systemd starts for a phase."""
    unit = Path(f"/etc/systemd/system/ovn-offload-sriov-{phase}.service").read_text()
    (line,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    return shlex.split(line.removeprefix("ExecStart="))


class Card:
    """The PFs of the node, and the bond that they came from."""

    def __init__(self, pfs: dict[str, str], bond: str) -> None:
        self.pfs = pfs
        self.bond = bond

    def plain(self) -> None:
        """Two PFs outside the bond, without VFs, in legacy mode.

        All VFs are unbound before the first port leaves the bond: mlx5 takes VF-LAG down in no other way.
        """
        for bdf in self.pfs:
            for link in sorted(SYSFS.joinpath(bdf).glob("virtfn*")):
                if (link / "driver").exists():
                    (link / "driver/unbind").write_text(link.resolve().name)
        for netdev in self.pfs.values():
            run("ip", "link", "set", netdev, "nomaster")
        for bdf in self.pfs:
            run("devlink", "dev", "eswitch", "set", f"pci/{bdf}", "mode", "legacy")
            SYSFS.joinpath(bdf, "sriov_numvfs").write_text("0")
            SYSFS.joinpath(bdf, "sriov_drivers_autoprobe").write_text("1")
        run("udevadm", "settle")

    def bonded(self) -> None:
        """Both PFs in the bond again, as networkd would do between the boot units, and VF-LAG active."""
        for netdev in self.pfs.values():
            run("ip", "link", "set", netdev, "down")
            run("ip", "link", "set", netdev, "master", self.bond)
            run("ip", "link", "set", netdev, "up")
        deadline = time.monotonic() + LAG_DEADLINE
        while any(DEBUGFS.joinpath(bdf, "lag/state").read_text() != "active\n" for bdf in self.pfs):
            if time.monotonic() > deadline:
                raise SystemExit(f"no VF-LAG within {LAG_DEADLINE:g} s")
            time.sleep(0.1)
        run("udevadm", "settle")

    def state(self) -> list[str]:
        """Return the state after the writes, to see that both ways lead to the same one."""
        return [
            f"{bdf} {SYSFS.joinpath(bdf, 'sriov_numvfs').read_text().strip()} "
            f"{sum((link / 'driver').exists() for link in SYSFS.joinpath(bdf).glob('virtfn*'))} "
            + subprocess.check_output(["devlink", "dev", "eswitch", "show", f"pci/{bdf}"], text=True).strip()
            for bdf in self.pfs
        ]


def as_shell(trace: Path) -> str:
    """The traced writes to the card, as a shell script; the units' own records are left out."""
    lines = ["set -e"]
    for entry in map(json.loads, trace.read_text().splitlines()):
        match entry["verb"], entry["arguments"]:
            case "write", [path, value]:
                lines.append(f"echo {shlex.quote(value)} >{shlex.quote(path)}")
            case "set_eswitch_mode", [bdf, mode]:
                lines.append(f"devlink dev eswitch set pci/{bdf} mode {mode}")
            case "set_inline_mode", [bdf, mode]:
                lines.append(f"devlink dev eswitch set pci/{bdf} inline-mode {mode}")
            case "set_devlink_param", [bdf, name, value]:
                lines.append(f"devlink dev param set pci/{bdf} name {name} value {value} cmode runtime")
            case "set_hw_tc_offload", [link, state]:
                lines.append(f"ethtool -K {link} hw-tc-offload {state}")
            case (("install" | "remove"), [path]):
                assert path.startswith("/run/ovn-offload/"), path
            case "run", _:
                pass  # tools that read; one that wrote would show in the state at the end
            case verb, arguments:
                raise SystemExit(
                    f"the boot units wrote {verb} {arguments}, which this benchmark does not know"
                )
    return "\n".join(lines) + "\n"


def main(pfs: dict[str, str], bond: str) -> None:
    """Alternate both ways; the bond is formed again between the two phases, outside the measured time."""
    card = Card(pfs, bond)
    work = Path("/var/lib/bench")
    work.mkdir(parents=True, exist_ok=True)
    run("systemctl", "stop", "systemd-networkd.socket", "systemd-networkd.service")
    times: list[tuple[float, float, float]] = []
    for number in range(ROUNDS + 1):  # the first round makes the script and warms the caches
        unit, shell, states = 0.0, 0.0, []
        card.plain()
        for phase in PHASES:
            trace = work / f"{phase}.trace"
            trace.unlink(missing_ok=True)
            traced = {"OVN_OFFLOAD_TRACE": str(trace)} if number == 0 else None
            unit += timed(*started(phase), environment=traced)
            if number == 0:
                (work / f"{phase}.sh").write_text(as_shell(trace))
            if phase == "early":
                card.bonded()
        run("udevadm", "settle")
        idle = sum(timed(*started(phase)) for phase in PHASES)
        states.append(card.state())
        card.plain()
        for phase in PHASES:
            shell += timed("/bin/sh", str(work / f"{phase}.sh"))
            if phase == "early":
                card.bonded()
        states.append(card.state())
        if states[0] != states[1]:
            raise SystemExit(f"the two ways end differently: {states}")
        if number:
            times.append((unit, idle, shell))
    script = "".join((work / f"{phase}.sh").read_text() for phase in PHASES)
    print(
        json.dumps(
            {
                "units": statistics.median(unit for unit, _, _ in times),
                "idle": statistics.median(idle for _, idle, _ in times),
                "shell": statistics.median(shell for _, _, shell in times),
                "ratio": statistics.median(unit / shell for unit, _, shell in times),
                "work_ratio": statistics.median((unit - idle) / shell for unit, idle, shell in times),
                "writes": len(script.splitlines()) - 2,
            }
        )
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
