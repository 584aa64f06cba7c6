# SPDX-License-Identifier: Apache-2.0
"""Files that others than root could have written are not believed, and their links are not followed."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from converge import Severity
from hostnic import exclusive, handover, own
from hostnic.firmware import mstconfig, msterrors
from hostnic.handover import Handover
from hostnic.machine import Machine, check_owner
from hostnic.system import NotOwnError, System, read_own
from lab.modelled import FakeHost

ALLOWED = ", but has to be root's own, which nobody else can write"
USER = 1000


class Real:
    """Files of this machine, of whoever runs the tests."""

    def __init__(self, directory: Path) -> None:
        self.system: System = Machine()
        self.root = str(directory)

    def put(self, path: str, mode: int = 0o600) -> None:
        self.system.files.install(path, b"{}", mode)

    def chmod(self, path: str, mode: int) -> None:
        Path(path).chmod(mode)

    def link(self, path: str, target: str) -> None:
        Path(path).symlink_to(target)


class Modelled(Real):
    """Files of the modelled host."""

    def __init__(self, directory: Path) -> None:
        host = FakeHost()
        self.system, self.disk, self.root = host, host.disk, str(directory)

    def chmod(self, path: str, mode: int) -> None:
        self.disk.give(path, 0, mode)

    def link(self, path: str, target: str) -> None:
        self.disk.link(path, target)


@pytest.fixture(params=[Real, Modelled])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Real:
    kind: Callable[[Path], Real] = request.param
    return kind(tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_a_file_that_nobody_else_can_write_is_read(place: Real, mode: int) -> None:
    path = f"{place.root}/a/file"
    place.put(path, mode)
    assert read_own(place.system, path) == "{}"


def test_a_file_that_others_can_write_is_refused_in_one_sentence(place: Real) -> None:
    path = f"{place.root}/a/file"
    place.put(path)
    place.chmod(path, 0o606)
    with pytest.raises(
        NotOwnError, match=r"^/\S+/a/file belongs to user \d+ and group \d+ with mode 0606"
    ) as e:
        read_own(place.system, path)
    assert str(e.value).endswith(ALLOWED)
    assert e.value.errno == errno.EPERM


def test_a_directory_that_others_can_write_makes_all_in_it_theirs(place: Real) -> None:
    path, directory = f"{place.root}/a/file", f"{place.root}/a"
    place.put(path)
    place.chmod(directory, 0o757)
    for act in (
        lambda: read_own(place.system, path),
        lambda: place.system.files.install(path, b"new"),
        lambda: place.system.files.remove(path),
        lambda: place.system.files.lock(f"{directory}/lock"),
    ):
        with pytest.raises(NotOwnError, match="/a belongs to user"):
            act()
    place.chmod(directory, 0o755)
    assert read_own(place.system, path) == "{}"


LINK, DIRECTORY, FILE = stat.S_IFLNK | 0o777, stat.S_IFDIR, stat.S_IFREG

MINE = {
    "root's group may write its directory": (0, 0, DIRECTORY | 0o775),
    "another group may read its file": (0, USER, FILE | 0o640),
    "a link has every right, and is whose it is": (0, USER, LINK),
    "others may add files to a sticky directory": (0, USER, DIRECTORY | 0o1777),
}
THEIRS = {
    "a group may write the directory": (0, USER, DIRECTORY | 0o775),
    "a group may write the directory of a daemon": (0, 1, DIRECTORY | 0o770),
    "a group may write the file": (0, USER, FILE | 0o620),
    "everybody may write the file": (0, 0, FILE | 0o602),
    "a sticky bit on a file protects nothing": (0, USER, FILE | 0o1620),
    "another user's link": (USER, 0, LINK),
    "another user's directory, though it is sticky": (USER, 0, DIRECTORY | 0o1777),
    "another user's file that only he can read": (USER, USER, FILE | 0o600),
}


@pytest.mark.parametrize("found", MINE.values(), ids=MINE)
def test_what_only_root_can_change_is_roots(found: tuple[int, int, int]) -> None:
    check_owner("/x", *found)


@pytest.mark.parametrize("found", THEIRS.values(), ids=THEIRS)
def test_what_another_user_or_group_can_change_is_theirs(found: tuple[int, int, int]) -> None:
    with pytest.raises(NotOwnError, match=r"^/x belongs to user"):
        check_owner("/x", *found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to a group")
def test_a_directory_that_a_group_can_write_is_refused_on_the_real_host(tmp_path: Path) -> None:
    place = Real(tmp_path)
    place.put(f"{tmp_path}/a/file")
    os.chown(tmp_path / "a", 0, USER)
    (tmp_path / "a").chmod(0o775)
    with pytest.raises(NotOwnError, match="/a belongs to user 0 and group 1000 with mode 0775"):
        read_own(place.system, f"{tmp_path}/a/file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give links to another user")
def test_another_users_link_is_no_way_on_the_real_host(tmp_path: Path) -> None:
    place = Real(tmp_path)
    place.put(f"{tmp_path}/disk/file")
    place.link(f"{tmp_path}/a", f"{tmp_path}/disk")
    assert read_own(place.system, f"{tmp_path}/a/file") == "{}"
    os.lchown(tmp_path / "a", USER, USER)
    with pytest.raises(NotOwnError, match="/a belongs to user 1000"):
        read_own(place.system, f"{tmp_path}/a/file")


def test_a_sticky_directory_leaves_roots_files_to_root(place: Real) -> None:
    """As /tmp: others may add files, and cannot replace root's."""
    path = f"{place.root}/a/file"
    place.put(path)
    place.chmod(f"{place.root}/a", 0o1777)
    assert read_own(place.system, path) == "{}"


def test_a_link_is_no_file_of_ours_and_is_replaced_not_followed(place: Real) -> None:
    path, target = f"{place.root}/a/file", f"{place.root}/a/target"
    place.put(target)
    place.link(path, target)
    with pytest.raises(NotOwnError, match=f"is a link to {target}"):
        read_own(place.system, path)
    place.system.files.install(path, b"new")
    assert read_own(place.system, path) == "new"
    assert read_own(place.system, target) == "{}"


def test_a_link_of_roots_own_to_another_directory_of_roots_is_a_way(place: Real) -> None:
    """An operator who moved the images to a larger disk."""
    place.put(f"{place.root}/disk/file")
    place.link(f"{place.root}/a", f"{place.root}/disk")
    place.system.files.install(f"{place.root}/a/file", b"new")
    place.chmod(f"{place.root}/disk", 0o757)
    with pytest.raises(NotOwnError, match="/disk belongs to user"):
        place.system.files.install(f"{place.root}/a/file", b"newer")


def test_the_lock_of_the_real_host_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        Machine().files.lock(str(tmp_path / "lock"))
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    host.disk.install(f"{handover.AGENTS}/unit-nic-firmware-0/agent.conf", b"", 0o600)
    return host


THEIRS = Handover("nic-firmware", "nic-firmware/0", "nic-firmware", pending="burns an image")


def test_another_users_file_or_link_is_refused_wherever_it_is(host: FakeHost) -> None:
    for path in ("/run/x", "/run/ovn-offload/x", "/etc/ovn-offload/x.json"):
        host.disk.install(path, b"{}", 0o644)
        host.disk.give(path, USER)
        with pytest.raises(
            NotOwnError, match=f"{path} belongs to user 1000 and group 1000 with mode 0644, but"
        ):
            read_own(host, path)
    host.disk.link("/run/theirs", "/etc")
    host.disk.give("/run/theirs", USER)
    with pytest.raises(NotOwnError, match="/run/theirs belongs to user 1000"):
        host.files.install("/run/theirs/passwd", b"")


def test_a_handover_file_of_another_user_is_no_request_and_its_charm_is_named(host: FakeHost) -> None:
    handover.publish(host, THEIRS)
    host.disk.give(handover.path_of("nic-firmware"), USER)
    handovers, (finding,) = handover.read_others(host, "sriov-switchdev")
    assert handovers == ()
    assert finding.subject == "/run/ovn-offload/nic-firmware.json"
    assert "belongs to user 1000 and group 1000 with mode 0600" in finding.what
    assert handover.publish(host, THEIRS), "its own charm replaces it"
    assert handover.read_others(host, "sriov-switchdev") == ((THEIRS,), ())
    assert not handover.publish(host, THEIRS)


def test_a_directory_of_another_user_takes_no_handover(host: FakeHost) -> None:
    handover.publish(host, THEIRS)
    host.disk.give(handover.DIRECTORY, USER)
    with pytest.raises(NotOwnError, match="/run/ovn-offload belongs to user 1000"):
        handover.publish(host, THEIRS._replace(pending=""))
    with pytest.raises(NotOwnError), exclusive.lock(host, 0.0):
        pass


def test_each_charm_names_its_own_files_that_are_not_believed(host: FakeHost) -> None:
    for path in (
        "/run/ovn-offload/roce-qos/boot.json",
        "/run/ovn-offload/sriov-switchdev/live.json",
        "/etc/ovn-offload/roce-qos.json",
        "/usr/lib/ovn-offload/roce-qos/boot.pyz",
    ):
        host.disk.install(path, b"", 0o600)
    assert own.findings(host, "roce-qos") == ()
    host.disk.give("/run/ovn-offload/roce-qos/boot.json", USER)
    host.disk.give("/run/ovn-offload/sriov-switchdev/live.json", USER)
    host.disk.give("/usr/lib/ovn-offload/roce-qos/boot.pyz", 0, 0o646)
    record, code = own.findings(host, "roce-qos")
    assert (record.severity, record.subject) == (Severity.WARNING, "/run/ovn-offload/roce-qos/boot.json")
    assert record.what == f"is not used: it belongs to user 1000 and group 1000 with mode 0600{ALLOWED}"
    assert "chown -h root: /run/ovn-offload/roce-qos/boot.json" in record.remedy
    assert code.subject == "/usr/lib/ovn-offload/roce-qos/boot.pyz"


def test_a_charm_names_its_facts_for_the_exporter_too(host: FakeHost) -> None:
    for charm in ("roce-qos", "sriov-switchdev"):
        host.disk.install(f"/run/ovn-offload/facts/{charm}.json", b"", 0o644)
        host.disk.give(f"/run/ovn-offload/facts/{charm}.json", USER)
    (finding,) = own.findings(host, "roce-qos")
    assert finding.subject == "/run/ovn-offload/facts/roce-qos.json"


def test_a_directory_that_is_not_ours_is_named_once(host: FakeHost) -> None:
    for name in ("boot.json", "served"):
        host.disk.install(f"/run/ovn-offload/roce-qos/{name}", b"", 0o600)
    host.disk.give("/run/ovn-offload/roce-qos", USER)
    (finding,) = own.findings(host, "roce-qos")
    assert finding.subject == "/run/ovn-offload/roce-qos"


def test_no_tool_of_mstflint_starts_while_its_locks_are_another_users(host: FakeHost) -> None:
    bdf = host.cards[0].ports[0].bdf
    mstconfig.query(host, bdf, "NUM_OF_VFS")
    host.disk.link(f"{msterrors.LOCKS}/{bdf}_config", "/etc/cron.d/x")
    host.disk.give(msterrors.LOCKS, USER, 0o755)
    before = list(host.spawned)
    with pytest.raises(msterrors.MstError) as refused:
        mstconfig.query(host, bdf, "NUM_OF_VFS")
    assert refused.value.reason.startswith(
        f"mstconfig is not started: {msterrors.LOCKS} belongs to user 1000 and group 1000 with mode 0755"
    )
    assert refused.value.remedy == f"run rm -r {msterrors.LOCKS}"
    with pytest.raises(msterrors.MstError):
        mstconfig.set_next_boot(host, bdf, {"NUM_OF_VFS": "4"})
    assert host.spawned == before
    host.disk.remove(f"{msterrors.LOCKS}/{bdf}_config")
    host.disk.remove(msterrors.LOCKS)
    mstconfig.query(host, bdf, "NUM_OF_VFS")
