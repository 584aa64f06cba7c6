# SPDX-License-Identifier: Apache-2.0
"""`tox -e bundle`: check the bundle that is named; without one, run the tests."""

import subprocess
import sys
from pathlib import Path

from bundle import check

if any(
    argument.endswith((".yaml", ".yml")) or argument in ("--help", "--rules") for argument in sys.argv[1:]
):
    sys.exit(check.main(sys.argv[1:]))
TESTS = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "maas")]
sys.exit(subprocess.run([sys.executable, "-m", "pytest", *TESTS, *sys.argv[1:]], check=False).returncode)
