# SPDX-License-Identifier: Apache-2.0
"""The project's code as a read-only disk for the guest, mounted there at /opt/ovn-offload."""

import shutil
import subprocess
import tempfile
from pathlib import Path

MOUNTED = "/opt/ovn-offload"
ROOT = Path(__file__).parents[2]
PARTS = ("lib", "charms", "tests")
IGNORED = ("__pycache__", "*.pyc", "*.ko", "*.o", "*.cmd", "*.mod.c", ".venv", "venv", "build", "*.charm")


def write_disk(path: Path) -> None:
    """Write lib/, charms/ and tests/ as they are now into a file system image."""
    with tempfile.TemporaryDirectory(prefix="ovn-lab-") as name:
        tree = Path(name)
        for part in PARTS:
            if (ROOT / part).exists():
                shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns(*IGNORED))
        tree.chmod(0o755)
        command = [
            "mke2fs",
            "-q",
            "-F",
            "-t",
            "ext4",
            "-O",
            "^has_journal",
            "-L",
            "ovn-offload",
            "-E",
            "root_owner=0:0",
        ]
        subprocess.run([*command, "-d", name, str(path), "32M"], check=True, capture_output=True)
