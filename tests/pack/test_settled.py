# SPDX-License-Identifier: Apache-2.0
"""Two packs of one commit are the same, byte for byte."""

import os
import subprocess
import zipfile

import product
import pytest
import settled
from stage import ROOT, Platform, version

PACKED = sorted(ROOT.glob("build/*.charm"), key=lambda path: path.stat().st_size)
NOON = 1_700_000_000
SITE = "venv/lib/python3.10/site-packages"
FILES = {
    "manifest.yaml": "charmcraft-started-at: '2026-01-02T03:04:05.678901'\nbases: []\n",
    "dispatch": "#!/bin/sh\n",
    "src/charm.py": "import plan\n",
    f"{SITE}/outside/__init__.py": "thing = 1\n",
    f"{SITE}/outside-1.dist-info/RECORD": "../../../bin/tool,sha256=PATH,9\noutside/__init__.py,sha256=b,10\n"
    "outside/fast.so,sha256=c,11\noutside-1.dist-info/RECORD,,\n",
}


def pack(path, files, year, umask=0o022):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, (year, 5, 6, 7, 8, 10))
            mode = 0o777 if name == "dispatch" else 0o666
            entry.external_attr = (0o100000 | mode & ~umask) << 16
            archive.writestr(entry, text)
    settled.settle(path, NOON)
    return path


def test_order_times_modes_and_the_packing_folder_leave_nothing(tmp_path):
    first = pack(tmp_path / "first.charm", FILES, 2024)
    other = {
        name: text.replace("2026", "2027").replace("sha256=PATH", "sha256=OTHER")
        for name, text in reversed(FILES.items())
    }
    second = pack(tmp_path / "second.charm", other, 2025, umask=0o077)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == sorted(FILES)
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        modes = {entry.filename: oct(entry.external_attr >> 16) for entry in archive.infolist()}
        assert modes.pop("dispatch") == "0o100755"
        assert set(modes.values()) == {"0o100644"}
        assert b"charmcraft-started-at: '2023-11-14T22:13:20'\nbases" in archive.read("manifest.yaml")
        assert archive.read(f"{SITE}/outside-1.dist-info/RECORD").decode() == (
            "outside-1.dist-info/RECORD,,\noutside/__init__.py,sha256=b,10\n"
        )
        assert archive.read("src/charm.py") == b"import plan\n"


def test_another_content_is_another_artifact(tmp_path):
    first = pack(tmp_path / "first.charm", FILES, 2024)
    second = pack(tmp_path / "second.charm", FILES | {"src/charm.py": "import other\n"}, 2024)
    assert first.read_bytes() != second.read_bytes()


def test_the_time_is_that_of_the_commit_unless_it_is_given(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert settled.epoch(tmp_path) == settled.OLDEST
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    dated = {**os.environ, "GIT_COMMITTER_DATE": f"@{NOON} +0900"}
    for command in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "All"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=dated)
    assert settled.epoch(tmp_path) == NOON
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert settled.epoch(tmp_path) == 86400


@pytest.mark.skipif(not PACKED, reason="No charm is packed: run tox -e pack first.")
def test_a_second_pack_writes_the_same_bytes(tmp_path):
    path = PACKED[0]
    charm = ROOT / "charms" / path.name.partition("_")[0]
    with zipfile.ZipFile(path) as archive:
        if archive.read("version").decode().strip() != version(charm):
            pytest.skip(f"{path.name} is of another commit: run tox -e pack.")
    platform = Platform(path.stem.partition("_")[2].replace("-", ":"))
    again = product.make(charm, platform, tmp_path)
    assert again.packed.name == path.name
    assert again.packed.read_bytes() == path.read_bytes()
    assert again.bill.read_bytes() == path.with_name(again.bill.name).read_bytes()
