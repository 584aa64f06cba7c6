# SPDX-License-Identifier: Apache-2.0
"""The files that go from one release of Ubuntu to the next: of no package, or changed by somebody."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from lab import carry

PACKAGED = (
    "/etc/netplan\n/lib/netplan/generate\n/usr/lib/netplan\n/var/lib/apt\n/etc/default/grub\n/etc/issue\n"
)
OURS = (
    "/etc/netplan/50-cloud-init.yaml",
    "/etc/ovn-offload/sriov-switchdev.json",
    "/etc/systemd/system/ovn-offload-sriov-early.service",
    "/usr/lib/ovn-offload/sriov-switchdev/boot.pyz",
    "/var/lib/juju/agents/unit-sriov-switchdev-0/charm/src/charm.py",
    "/var/lib/ovn-offload/nic-firmware.json",
)
OF_THE_RELEASE = (
    "/etc/alternatives/editor",
    "/etc/passwd-",
    "/usr/lib/netplan/generate",
    "/usr/lib/netplan/__pycache__/cache.pyc",
    "/var/lib/apt/lists/lock",
    "/var/lib/dpkg/info/netplan.io.list",
    "/var/log/syslog",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A system with one package, whose configuration files are /etc/default/grub and /etc/issue."""
    for path in (*OURS, *OF_THE_RELEASE, "/etc/default/grub", "/etc/issue"):
        place = tmp_path / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{path}\n")
    (tmp_path / "var/lib/dpkg/info/netplan.io.list").write_text(f"/var/lib/dpkg\n{PACKAGED}")
    same = hashlib.md5(b"/etc/issue\n", usedforsecurity=False).hexdigest()
    status = (
        f"Package: netplan.io\nConffiles:\n /etc/default/grub {'0' * 32}\n /etc/issue {same}\nVersion: 1\n"
    )
    (tmp_path / "var/lib/dpkg/status").write_text(status)
    link = tmp_path / "etc/systemd/system/multi-user.target.wants/early.service"
    link.parent.mkdir()
    link.symlink_to("/etc/systemd/system/ovn-offload-sriov-early.service")
    return tmp_path


def test_what_belongs_to_no_package_goes_along_and_what_was_changed_of_one(root: Path) -> None:
    found = [path for path in carry.carried(str(root)) if not (root / path[1:]).is_dir()]
    link = "/etc/systemd/system/multi-user.target.wants/early.service"
    assert found == sorted([*OURS, link, "/etc/default/grub"])


def test_the_archive_has_links_as_links_and_each_directory_of_nobody(root: Path, tmp_path: Path) -> None:
    (root / "etc/ovn-offload").chmod(0o700)
    archive = tmp_path / "carried.tar.gz"
    paths = carry.pack(str(root), str(archive))
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as tar:
        assert [f"/{name}" for name in tar.getnames()] == paths
        assert tar.getmember("etc/ovn-offload").mode == 0o700
        assert tar.getmember("etc/systemd/system/multi-user.target.wants/early.service").issym()
