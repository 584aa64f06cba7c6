# SPDX-License-Identifier: Apache-2.0
"""docs/reference/files-on-a-host.md has each file that a constant of the shipped code names."""

import re
from collections.abc import Iterator
from pathlib import Path

from hostnic.boot.bootcopy import BootCopy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/files-on-a-host.md").read_text()
OURS = r"/(?:run|etc|var/lib|usr/lib)/[\w./-]*ovn-offload[\w./-]*"
CHARMS = "nic-firmware|sriov-switchdev|roce-qos"


def named(path: Path) -> Iterator[str]:
    """Files that the module's constants name, those in its DIRECTORY included."""
    text = path.read_text()
    yield from re.findall(rf'^(?!DIRECTORY)[A-Z]+ = "({OURS}\.\w+)"$', text, re.MULTILINE)
    for directory in re.findall(rf'^DIRECTORY = "({OURS})"$', text, re.MULTILINE):
        for name in re.findall(r'^[A-Z]+ = f"\{DIRECTORY\}/([\w.-]+)"$', text, re.MULTILINE):
            yield f"{directory}/{name}"


def listed() -> set[str]:
    """The page's paths and their folders; a name alone is in the folder of the path before it."""
    found = set[str]()
    for row in re.findall(r"^\| (`/.*?) \|", PAGE, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        found |= {first, *(f"{first.rpartition('/')[0]}/{name}" for name in others)}
    return found | {path.rpartition("/")[0] for path in found}


def test_each_file_of_a_constant_has_a_row() -> None:
    modules = [path for place in ("lib", "charms") for path in (ROOT / place).rglob("*.py")]
    files = {file for path in modules for file in named(path)}
    assert len(files) > 10
    known = listed()
    folders = tuple(path for path in known if path.endswith("/"))
    alike = {re.sub(rf"(?<=/)(?:{CHARMS})(?=[./])", "CHARM", file): file for file in files}
    missing = {
        file for shown, file in alike.items() if not {shown, file} & known and not file.startswith(folders)
    }
    assert missing == set()


def test_the_boot_copy_has_a_row_with_its_stamp() -> None:
    copy = BootCopy("CHARM", ())
    assert {copy.path, copy.stamp_path} <= listed()
