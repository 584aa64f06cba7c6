# SPDX-License-Identifier: Apache-2.0
"""`tox -e bundle`: check the bundle that is named; without one, run the tests."""

import subprocess
import sys
from pathlib import Path

from check import checker

OWN = ("-h", "--help", "--rules")
if any(argument.endswith((".yaml", ".yml")) or argument in OWN for argument in sys.argv[1:]):
    sys.exit(checker.main(sys.argv[1:]))
TESTS = [str(Path(__file__).parents[2] / "tests" / name) for name in ("bundle", "maas", "operate")]
sys.exit(subprocess.run([sys.executable, "-m", "pytest", *TESTS, *sys.argv[1:]], check=False).returncode)
