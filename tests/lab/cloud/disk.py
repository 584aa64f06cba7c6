# SPDX-License-Identifier: Apache-2.0
"""The disk of a virtual machine that only holds its devices: its first sector halts the processor.

With an empty disk the firmware goes on to look for one, at a third of the time of a node whose processor is
emulated, too.
"""

import subprocess
from pathlib import Path

HALT = bytes([0xFA, 0xF4, 0xEB, 0xFD])
"""cli; hlt; and back to hlt if something that cannot be masked wakes it."""
SECTOR = HALT.ljust(510, b"\0") + b"\x55\xaa"
SIZE = 1 << 20


def make(path: Path) -> None:
    """Write it as a qcow2 image."""
    raw = path.with_name(f"{path.name}.raw")
    raw.write_bytes(SECTOR.ljust(SIZE, b"\0"))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(raw), str(path)], check=True)
    raw.unlink()
