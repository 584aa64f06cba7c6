# SPDX-License-Identifier: Apache-2.0
"""The real host, as far as neither root nor a NIC is needed: files, processes, and netlink's answers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostnic import process
from hostnic.machine import Machine
from hostnic.system import CommandError, FileStat, System
from lab.modelled import FakeHost
from lab.modelled.recorder import Recorder

LIB = Path(__file__).parents[3] / "lib"


def test_files(tmp_path: Path) -> None:
    machine, path = Machine(), str(tmp_path / "a" / "b")
    machine.files.install(path, b"\xff\r\n", 0o600)
    assert machine.files.read(path).encode("utf-8", "surrogateescape") == b"\xff\r\n"
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert machine.files.listdir(str(tmp_path / "a")) == ["b"]
    machine.files.write(path, "8")
    assert machine.files.read(path) == "8"
    machine.files.remove(path)
    machine.files.remove(str(tmp_path / "a"))
    assert not machine.files.exists(str(tmp_path / "a"))


def real(path: Path) -> tuple[System, Callable[[bytes], None]]:
    return Machine(), lambda content: (time.sleep(0.02), path.write_bytes(content))[0]  # a tick of the clock


def modelled(path: Path) -> tuple[System, Callable[[bytes], None]]:
    host = FakeHost()
    return host, lambda content: host.disk.content.__setitem__(str(path), content)


@pytest.mark.parametrize("host", [real, modelled])
def test_stat_shows_each_change_of_a_file(host: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "below" / "file"
    system, overwrite = host(path)

    def stat() -> FileStat:
        return system.files.stat(str(path))

    with pytest.raises(FileNotFoundError):
        stat()
    system.files.install(str(path), b"1234")
    first = stat()
    assert first.size == 4
    system.files.read(str(path))
    assert stat() == first
    overwrite(b"4321")
    second = stat()
    assert (second.size, second.inode) == (4, first.inode)
    assert second.mtime_ns > first.mtime_ns
    system.files.install(str(path), b"4321")
    assert stat().inode != second.inode, "another file took its place"
    overwrite(b"12345")
    assert stat().size == 5
    system.files.remove(str(path))
    with pytest.raises(FileNotFoundError):
        stat()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_directories_have_the_same_mode_under_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        Machine().files.install(str(tmp_path / "a" / "b" / "file"), b"", 0o640)
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/file")]
    assert modes == [0o755, 0o755, 0o640]


def test_an_install_replaces_whole_files_and_leaves_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "unit"
    target.write_text("old")
    before = target.stat().st_ino
    Machine().files.install(str(target), b"new")
    assert target.read_text() == "new"
    assert target.stat().st_ino != before
    assert [entry.name for entry in tmp_path.iterdir()] == ["unit"]


def test_a_draft_that_a_killed_hook_left_is_replaced(tmp_path: Path) -> None:
    draft = tmp_path / ".unit.new"
    draft.write_text("half a")
    Machine().files.install(str(tmp_path / "unit"), b"new")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("unit", "new")]
    draft.symlink_to(tmp_path / "elsewhere")
    Machine().files.install(str(tmp_path / "unit"), b"newer")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("unit", "newer")]


def test_two_charms_make_the_same_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The units of all three start at boot, when /run is empty."""
    real = os.mkdir

    def both(path: str, mode: int) -> None:
        real(path, mode)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", both)
    Machine().files.install(str(tmp_path / "ovn-offload" / "file"), b"content")
    assert (tmp_path / "ovn-offload" / "file").read_text() == "content"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The system calls that change or sync a directory entry or a file, in order, with the paths."""
    made: list[str] = []

    def listen(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> None:
            paths = [str(each) for each in arguments if isinstance(each, str | Path)]
            if name == "fsync":
                paths = [str(Path(f"/proc/self/fd/{arguments[0]}").readlink())]
            real(*arguments)
            made.append(" ".join((name, *paths)))

        monkeypatch.setattr(os, name, call)

    for name in ("fsync", "replace", "unlink", "rmdir", "mkdir"):
        listen(name)
    return made


def test_an_installed_file_and_its_directories_survive_a_power_cut(tmp_path: Path, calls: list[str]) -> None:
    Machine().files.install(f"{tmp_path}/a/b/file", b"content")
    assert [call.replace(str(tmp_path), "") for call in calls] == [
        "mkdir /a",
        "fsync ",
        "mkdir /a/b",
        "fsync /a",
        "fsync /a/b/.file.new",
        "replace /a/b/.file.new /a/b/file",
        "fsync /a/b",
    ]


def test_what_was_removed_stays_removed_after_a_power_cut(tmp_path: Path, calls: list[str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").touch()
    calls.clear()
    Machine().files.remove(f"{tmp_path}/a/file")
    Machine().files.remove(f"{tmp_path}/a")
    assert [call.replace(str(tmp_path), "") for call in calls] == [
        "unlink /a/file",
        "fsync /a",
        "rmdir /a",
        "fsync ",
    ]


def test_an_install_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "unit"
    target.mkdir()
    with pytest.raises(OSError):
        Machine().files.install(str(target), b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["unit"]


def test_the_trace_has_each_write_before_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVN_OFFLOAD_TRACE", str(tmp_path / "trace"))
    machine, path = Machine(), str(tmp_path / "x")
    machine.files.install(path, b"")
    machine.files.write(path, "8")
    machine.files.read(path)
    machine.query(["true"])
    machine.files.remove(path)
    with pytest.raises(CommandError):
        machine.run(["systemctl-of-nobody", "enable", "x"])
    with pytest.raises(OSError):
        machine.links.set_up("no-such-dev", True)
    lines = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert [(line["verb"], *line["arguments"]) for line in lines] == [
        ("install", path),
        ("write", path, "8"),
        ("remove", path),
        ("run", "systemctl-of-nobody", "enable", "x"),
        ("set_up", "no-such-dev", "up"),
    ]


def test_queries_are_no_writes() -> None:
    recorder = Recorder(Machine())
    recorder.query(["true", "read"])
    recorder.run(["true", "write"])
    assert recorder.writes == ["run true write"]


def test_a_process_gets_no_input_and_a_known_locale() -> None:
    assert Machine().query(["cat"]) == ""
    assert Machine().run(["sh", "-c", "echo $LC_ALL"]) == "C\n"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["no-such-tool"], "no-such-tool is not installed"),
        (["sh", "-c", "echo first >&2; echo last words >&2; exit 3"], "sh failed (3): last words"),
        (["sh", "-c", "echo on stdout; exit 1"], "sh failed (1): on stdout"),
        (["sh", "-c", "echo Device is busy. >&2; exit 1"], "sh failed (1): Device is busy"),
        (["false"], "false failed (1): no message"),
        (["sleep", "9"], "sleep did not end within 0.1 s"),
        (["/"], "/ could not be started: Permission denied"),
        (["true", "\0"], "true could not be started: embedded null byte"),
        (["true", "\ud800"], "true could not be started: surrogates not allowed"),
    ],
)
def test_a_failing_process_is_one_sentence(argv: list[str], says: str) -> None:
    with pytest.raises(CommandError) as error:
        Machine().run(argv, timeout=0.1 if argv[0] == "sleep" else 10.0)
    assert str(error.value) == says
    assert error.value.strerror == says


def test_a_sentence_of_a_failing_process_fits_where_juju_takes_it() -> None:
    """A progress message of an action is one argument of action-log: 128 KiB at most."""
    with pytest.raises(CommandError) as error:
        Machine().query(["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x >&2; exit 1"])
    assert len(error.value.reason) < 1100
    assert len(error.value.stderr) == 200_000


def test_a_process_that_prints_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    documented = f"A command that a charm runs on its host may print {process.MOST >> 20} MiB."
    assert documented in " ".join((LIB.parent / "SECURITY.md").read_text().split())
    monkeypatch.setattr(process, "MOST", 1 << 20)
    enough = ["head", "-c", str(1 << 20), "/dev/zero"]
    assert len(Machine().query(enough)) == 1 << 20
    for argv in (["sh", "-c", "exec yes"], ["sh", "-c", "exec yes >&2"]):
        with pytest.raises(CommandError, match=r"^sh printed more than 1 MiB$"):
            Machine().query(argv)


def test_a_process_ends_with_its_time_whatever_it_prints_or_closes() -> None:
    for script in ("while :; do echo y; done", "exec sleep 9 >&- 2>&-"):
        with pytest.raises(CommandError, match=r"^sh did not end within 0\.2 s$"):
            Machine().query(["sh", "-c", script], timeout=0.2)


def test_a_process_whose_time_is_over_brings_to_an_end_what_it_has_begun(tmp_path: Path) -> None:
    """As mstflint's tools do, which hold the NIC's semaphore meanwhile."""
    held = tmp_path / "semaphore"
    script = f"trap 'over=yes' TERM; touch {held}; until [ $over ]; do sleep 0.1; done; rm {held}"
    with pytest.raises(CommandError, match=r"^bash did not end within 1 s$"):
        Machine().query(["bash", "-c", script], timeout=1)
    assert not held.exists()


def test_a_process_that_never_ends_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LAST", 0.5)
    with pytest.raises(CommandError, match=r"^bash did not end within 0\.2 s$"):
        Machine().query(["bash", "-c", "trap '' TERM; while :; do sleep 0.1; done"], timeout=0.2)


def test_links_of_the_real_kernel() -> None:
    (loopback,) = [link for link in Machine().links.all() if link.name == "lo"]
    assert (loopback.ifindex, loopback.mtu, loopback.kind, loopback.master) == (1, 65536, None, None)


def test_addresses_of_the_real_kernel() -> None:
    assert "127.0.0.1" in Machine().links.addresses("lo")


def test_the_kernels_refusal_is_an_oserror() -> None:
    machine = Machine()
    with pytest.raises(OSError, match="No such device"):
        machine.links.set_master("no-such-dev", None)
    with pytest.raises(OSError, match="No such device"):
        machine.links.addresses("no-such-dev")
    with pytest.raises(OSError):
        machine.devlink.eswitch_mode("ffff:00:00.0")


def test_an_unused_machine_costs_nothing_and_a_used_one_no_asyncio() -> None:
    script = (
        "import sys; from hostnic.machine import Machine; machine = Machine();"
        "assert not any(name.startswith('pyroute2') for name in sys.modules);"
        "machine.links.all();"
        "assert 'asyncio' not in sys.modules;"
        "import pyroute2.netlink, pyroute2; assert pyroute2.IPRoute"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": str(LIB)}, timeout=60)


def test_a_lock_is_one_process_and_ends_with_it(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "changing.lock")
    code = (
        "import sys\nfrom hostnic.machine import Machine\nmachine = Machine()\n"
        "print(machine.files.lock(sys.argv[1]), flush=True)\nsys.stdin.read()\n"
    )
    argv = [sys.executable, "-c", code, path]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    files = Machine().files
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as other:
        assert other.stdout
        assert other.stdout.readline() == "True\n"
        assert files.lock(path) is False
        other.kill()
    assert files.lock(path) is True
    assert files.lock(path) is True, "it has it already"
    again = subprocess.run(argv, input="", capture_output=True, text=True, check=True, env=env)
    assert again.stdout == "False\n"
    files.unlock(path)
    files.unlock(path)
    again = subprocess.run(argv, input="", capture_output=True, text=True, check=True, env=env)
    assert again.stdout == "True\n"
