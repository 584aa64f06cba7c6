# SPDX-License-Identifier: Apache-2.0
"""Take out of an artifact what differs between two packs of one commit.

charmcraft stores files in the order of the file system, with the times at which they were written, and puts
the time of the pack into manifest.yaml. uv lists scripts that name the folder in which it installed.
"""

import csv
import io
import os
import re
import subprocess
import zipfile
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

OLDEST = 315532800
"""1980-01-01, the first time that a zip archive can store."""


def epoch(directory: Path) -> int:
    """SOURCE_DATE_EPOCH, else the time of the commit in which the directory is; in none, the oldest time."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    shown = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return int(shown.stdout) if shown.returncode == 0 else OLDEST


def settle(packed: Path, seconds: int) -> None:
    """Write the artifact again: sorted, each file of the same time, of mode 0644 or 0755."""
    when = datetime.fromtimestamp(max(seconds, OLDEST), timezone.utc)
    with zipfile.ZipFile(packed) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
        content = {name: archive.read(name) for name in modes}
    content["manifest.yaml"] = re.sub(
        rb"(?m)^charmcraft-started-at: .*$",
        f"charmcraft-started-at: '{when:%Y-%m-%dT%H:%M:%S}'".encode(),
        content["manifest.yaml"],
    )
    for record in [name for name in content if name.endswith(".dist-info/RECORD")]:
        content[record] = _rows_of_files(PurePosixPath(record).parents[1], content[record], content.keys())
    with zipfile.ZipFile(packed, "w") as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, when.timetuple()[:6])
            entry.create_system = 3  # Unix, whose modes follow
            entry.external_attr = (0o100755 if modes[name] & 0o111 else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content[name])


def _rows_of_files(site: PurePosixPath, record: bytes, names: set[str]) -> bytes:
    """The rows of a package's RECORD whose files are in the artifact."""
    text = io.StringIO(record.decode(), newline="")
    kept = io.StringIO(newline="")
    rows = [row for row in csv.reader(text) if row and str(site / row[0]) in names]
    csv.writer(kept, lineterminator="\n").writerows(sorted(rows))
    return kept.getvalue().encode()
