# SPDX-License-Identifier: Apache-2.0
"""The findings of cumulus-fabric's command line on an intent."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def audited(intent: Path) -> tuple[int, str]:
    """The exit code of an audit of this file, and what is on standard error."""
    path = os.pathsep.join(map(str, (ROOT / "lib", ROOT / "charms/cumulus-fabric/src")))
    command = [sys.executable, "-m", "cli", "audit", "--intent", str(intent)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr
