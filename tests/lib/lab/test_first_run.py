# SPDX-License-Identifier: Apache-2.0
"""The lab's first minutes on a fresh machine: what it installs, waits for, tries, and shows meanwhile."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from lab import accel, guest, store
from lab.guest import Guest, GuestError
from lab.host import HostError, require
from lab.image import Image
from lab.progress import Step, Stopwatch, fitted
from lab.rack import build
from lab.rack.display import Display
from lab.rack.machine import Floor, Machine


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Makes a program of this name, with this text; there are no others, and root starts them."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(bin_))
    monkeypatch.setattr("os.geteuid", lambda: 0)

    def made(name: str, text: str) -> None:
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)

    return made


HELD = """#!/bin/sh
here="${0%/*}"
[ "$2" = install ] || exit 0
if [ -e "$here/asked" ]; then
    for tool in qemu-img mmdebstrap mke2fs; do : >"$here/$tool"; /bin/chmod +x "$here/$tool"; done
    exit 0
fi
: >"$here/asked"
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process PROCESS (unattended-upgr)" >&2
exit 100
"""
"""An apt-get whose lock another process holds when it is first asked to install something."""


@pytest.fixture
def _keyring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lab.host.TOOLS", {tool: tool for tool in ("qemu-img", "mmdebstrap", "mke2fs")})
    monkeypatch.setattr("lab.host.PAUSE", 0.01)


@pytest.mark.usefixtures("_keyring")
def test_a_lock_of_dpkg_is_waited_for_and_its_holder_is_named(
    program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A fresh Ubuntu's apt-daily holds it for minutes."""
    program("apt-get", HELD.replace("PROCESS", str(os.getpid())))
    require()
    said = capsys.readouterr().out.splitlines()
    possible = {  # ps rounds in another way
        f"  ... waits for unattended-upgr (process {os.getpid()}), which runs since "
        f"{time.strftime('%H:%M:%S', time.localtime(_began() + second))}, "
        "to release /var/lib/dpkg/lock-frontend"
        for second in (-1, 0, 1)
    }
    assert said[1] in possible
    assert " ok  " in said[2]


def _began() -> float:
    """When this process began, as ps has it."""
    elapsed = subprocess.run(
        ["/bin/ps", "-o", "lstart=", "-p", str(os.getpid())], capture_output=True, text=True, check=True,
        env={"LC_ALL": "C"},
    ).stdout  # fmt: skip
    return time.mktime(time.strptime(elapsed.strip()))


@pytest.mark.usefixtures("_keyring")
def test_a_holder_that_has_ended_meanwhile_has_no_time(
    program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    program("apt-get", HELD.replace("PROCESS", str(gone.pid)))
    require()
    assert f"waits for unattended-upgr (process {gone.pid}), to release " in capsys.readouterr().out


@pytest.mark.usefixtures("_keyring")
def test_an_older_apt_names_no_holder(
    program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    program("apt-get", HELD.replace(". It is held by process PROCESS (unattended-upgr)", " - open (11: …)"))
    require()
    assert (
        "waits for another apt or dpkg, to release /var/lib/dpkg/lock-frontend\n" in capsys.readouterr().out
    )


@pytest.mark.usefixtures("_keyring")
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (1, "apt-get failed"),
        (0, "apt-get has installed mke2fs, mmdebstrap, qemu-img, and there still is no "),
    ],
)
def test_a_step_after_which_the_tools_are_missing_is_not_called_ok(
    program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str], status: int, reason: str
) -> None:
    program("apt-get", f"#!/bin/sh\nexit {status}\n")
    with pytest.raises(HostError, match=reason) as caught:
        require()
    assert "run: apt-get install -y mke2fs mmdebstrap qemu-img" in str(caught.value)
    shown = capsys.readouterr().out
    assert "  FAILED " in shown
    assert " ok " not in shown


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (80, "  ... Debian 13: building the card  3.0 s; Trying KVM"),
        (49, "  ... Debian 13: building the card  3.0 s…"),
        (20, "  ... Debian 13:…"),
    ],
)
def test_a_live_line_ends_with_a_whole_word_inside_the_terminal(columns: int, shown: str) -> None:
    assert fitted("  ... Debian 13: building the card  3.0 s; Trying KVM", columns) == shown


class Terminal(io.StringIO):
    """A terminal, as far as a program asks."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 64 columns and 8 lines."""
    monkeypatch.setenv("COLUMNS", "64")
    monkeypatch.setenv("LINES", "8")


@pytest.mark.usefixtures("small")
def test_the_table_of_units_is_cut_at_words_and_no_longer_than_the_terminal() -> None:
    machines = {"node-0": SimpleNamespace(name="node-0", job=None, began=0.0, done=[])}
    out = Terminal()
    display = Display(machines, out)
    message = "reboot: sriov-switchdev asked for it, and it waits\nfor its turn"
    display.units = {
        f"roce-qos/{number}": SimpleNamespace(
            name=f"roce-qos/{number}", status=("waiting", message), machine=machines["node-0"]
        )
        for number in range(9)
    }
    display.phase("nodes")
    out.truncate(0)
    display.tick()
    lines = out.getvalue().replace("\x1b[33m", "").replace("\x1b[0m", "").splitlines()
    assert len(lines) == 7
    assert all(len(line) < 64 for line in lines)
    assert lines[2] == "roce-qos/0  node-0   waiting  0.0 s  reboot: sriov-switchdev…"


def test_a_unit_that_runs_a_hook_shows_that_in_place_of_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    job = SimpleNamespace(what="roce-qos/0 config-changed")
    machine = SimpleNamespace(name="node-0", job=job, began=time.monotonic() - 61, done=[])
    out = Terminal()
    display = Display({"node-0": machine}, out)
    unit = SimpleNamespace(name="roce-qos/0", status=("maintenance", "installs"), machine=machine)
    display.units = {"roce-qos/0": unit}
    display.tick()
    assert "  runs config-changed 1 min 01 s" in out.getvalue()
    assert "installs" not in out.getvalue()


def test_the_next_run_says_what_is_left_of_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    with Step("Building the card"):
        time.sleep(0.2)
    with Step("Building the card") as again:
        left = again._watch.left
    first, _, second, ended = capsys.readouterr().out.splitlines()
    number = again._watch.number
    assert first == f"  ... {number - 1}. Building the card"
    assert second.startswith(f"  ... {number}. Building the card, about 0.")
    assert (left[:8], left[-5:]) == ("about 0.", " left")
    assert ended.startswith(f"  ok  {number}. Building the card  ")


def test_a_step_that_takes_longer_than_the_last_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    Stopwatch("First boot").ended()
    now = Stopwatch("First boot")
    monkeypatch.setattr(now, "began", now.began - 65)
    assert str(now) == f"{now.number}. First boot  1 min 05 s, longer than the last time, 0.0 s"


def test_a_step_that_failed_teaches_nothing() -> None:
    with pytest.raises(RuntimeError), Step("Building the card"):
        raise RuntimeError
    assert Stopwatch("Building the card").left == ""


@pytest.mark.parametrize("kept", ["", "[1]", '{"Trying KVM": {}}', "\x00"])
def test_a_file_of_durations_that_cannot_be_read_is_as_none(kept: str) -> None:
    (store.folder() / "durations.json").write_text(kept)
    watch = Stopwatch("Trying KVM")
    assert watch.left == ""
    watch.ended()
    assert Stopwatch("Trying KVM").left


@pytest.mark.parametrize(
    ("prints", "says"),
    [
        ("lab-probe-ok", "(it works: guests run as fast as this machine)"),
        ("", "(no guest starts with it here: guests are emulated, and take several times as long)"),
    ],
)
def test_trying_kvm_says_what_follows(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str],
    tmp_path: Path, prints: str, says: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("os.access", lambda path, mode: True)
    program("qemu-system-x86_64", f"#!/bin/sh\necho 'QEMU emulator version 7.2.9' {prints}\n")
    accel.qemu_version.cache_clear()
    chosen = accel.accelerator(Image(tmp_path))
    assert (chosen == accel.KVM) == bool(prints)
    assert says in capsys.readouterr().out
    accel.qemu_version.cache_clear()


def test_a_machine_without_kvm_is_told_once_what_follows(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr("os.access", lambda path, mode: False)
    program("qemu-system-x86_64", "#!/bin/sh\necho QEMU emulator version 7.2.9\n")
    accel.qemu_version.cache_clear()
    accel._say_why_not.cache_clear()
    for _ in range(2):
        assert accel.accelerator(Image(tmp_path)) != accel.KVM
    said = capsys.readouterr().out
    assert said.count("guests are emulated, and take several times as long") == 1
    accel.qemu_version.cache_clear()


DEAD = """#!/bin/sh
[ "$1" != --version ] || { echo QEMU emulator version 7.2.9; exit; }
for word; do
    case $word in
    file,id=console,path=*) log=${word#*path=}; echo 'Kernel panic - not syncing' >"${log%%,*}" ;;
    root=*) echo "$word" ;;
    esac
done
"""
"""A QEMU whose guest panics as it boots. It prints the kernel's command line, and the lab shows that."""


def test_a_failed_first_boot_keeps_its_console_and_says_where(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[str, str], None], tmp_path: Path
) -> None:
    for name in ("vmlinuz", "initrd", "image.qcow2"):
        (tmp_path / name).touch()
    monkeypatch.setattr(guest, "image", lambda release: Image(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setattr(guest.code, "write_disk", lambda path: None)
    program("qemu-system-x86_64", DEAD)
    program("qemu-img", "#!/bin/sh\n")
    accel.qemu_version.cache_clear()
    with pytest.raises(GuestError, match="the guest did not start") as caught:
        Guest("trixie").prepare()
    kept = store.folder() / "first-boot-trixie-plain.log"
    assert f"The guest's console is kept in {kept}." in str(caught.value)
    assert kept.read_text() == "Kernel panic - not syncing\n"
    assert not [*store.folder().glob("guest-*")]
    # No limit of systemd in the guest counts the wall clock of a host that others keep busy.
    assert " systemd.service_watchdogs=no udev.event_timeout=7200 " in str(caught.value)
    accel.qemu_version.cache_clear()


class Booting:
    """A guest whose first boot takes so many looks, and may fail."""

    def __init__(self, turns: float, fails: str = "") -> None:
        self.turns, self.fails, self.booted, self.killed = turns, fails, False, False

    def prepare(self) -> None:
        time.sleep(self.turns)
        if self.fails or self.killed:
            raise GuestError(self.fails or "its power was cut")
        self.booted = True

    def kill(self) -> None:
        self.killed = True

    def processes(self) -> list[int]:
        return []


def test_a_first_boot_that_fails_ends_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    guests = {
        "fabric": Booting(0.0, "TimeoutStartSec"),
        "node-0": Booting(0.3),
        "node-1": Booting(0.0, "panic"),
    }
    monkeypatch.setattr(build.Guest, "prepare", lambda one: one.prepare())
    floor = Floor([Machine(name, one) for name, one in guests.items()], lambda: None)
    with pytest.raises(GuestError, match="fabric: TimeoutStartSec\nnode-1: panic"):
        build.boot_first(floor)
    floor.stop()
    assert guests["node-0"].booted
