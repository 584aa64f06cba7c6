# SPDX-License-Identifier: Apache-2.0
"""Start a rack of twins in a guest, from outside."""

import json
import time
from pathlib import Path
from typing import Any

from lab import code
from lab.guest import Guest, GuestError
from lab.image import digest
from lab.twin.wiring import Wiring

SAYS = "/run/twin.json"
UNIT = f"systemd-run --quiet --unit=twin --property=StandardOutput=truncate:{SAYS}"
COPY = "/opt/twin"


def kept(wiring: Wiring) -> str:
    """A script that copies the twin's code into a guest and starts it there, for the guest's snapshot."""
    here, nvue = Path(__file__).parent, code.ROOT / "tests/nvue"
    sources = digest(sorted([*here.glob("*.py"), *nvue.glob("*.py")]))
    return f"""set -e
# {sources}
mkdir -p {COPY}/lab
cd {code.MOUNTED}/tests
cp -r nvue {COPY}
cp -r lab/__init__.py lab/twin {COPY}/lab
cat >{COPY}/wiring.json <<'END'
{wiring.dump()}
END
{UNIT} --setenv=PYTHONPATH={COPY} python3 -m lab.twin {COPY}/wiring.json
until [ -s {SAYS} ]; do
    if systemctl -q is-failed twin; then journalctl -q -u twin | tail -30 >&2; exit 1; fi
    sleep 1
done
"""


def start(guest: Guest, wiring: str = "", patience: float = 600) -> dict[str, Any]:
    """What :mod:`lab.twin` says when every switch answers, started now unless it runs.

    Args:
        guest: where.
        wiring: a file in the guest.
        patience: seconds.

    Raises:
        GuestError: it has ended, or is not there within ``patience`` seconds; with its log.

    """
    run = f"--setenv=PYTHONPATH={code.MOUNTED}/tests --property=RequiresMountsFor={code.MOUNTED} python3"
    guest.run(f"systemctl -q is-active twin || {UNIT} {run} -m lab.twin {wiring}")
    deadline = time.monotonic() + patience
    while not (said := guest.run(f"cat {SAYS}", check=False).stdout.strip()):
        failed = guest.run("systemctl -q is-failed twin", check=False).returncode == 0
        if failed or time.monotonic() > deadline:
            raise GuestError(
                f"the twin does not start\n{guest.run('journalctl -q -u twin | tail -30').stdout}"
            )
        time.sleep(1)
    return json.loads(said)
