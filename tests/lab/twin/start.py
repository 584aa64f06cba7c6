# SPDX-License-Identifier: Apache-2.0
"""Start a rack of twins in a guest, from outside."""

import json
import time
from typing import Any

from lab.guest import Guest, GuestError

UNIT = (
    "systemd-run --quiet --unit=twin --setenv=PYTHONPATH=/opt/ovn-offload/tests "
    "--property=RequiresMountsFor=/opt/ovn-offload --property=StandardOutput=truncate:/run/twin.json "
    "python3 -m lab.twin"
)


def start(guest: Guest, wiring: str = "", patience: float = 600) -> dict[str, Any]:
    """What :mod:`lab.twin` says when every switch answers; ``wiring`` is a file in the guest.

    Raises:
        GuestError: it has ended, or is not there within ``patience`` seconds; with its log.

    """
    guest.run(f"{UNIT} {wiring}")
    deadline = time.monotonic() + patience
    while not (said := guest.run("cat /run/twin.json", check=False).stdout.strip()):
        failed = guest.run("systemctl -q is-failed twin", check=False).returncode == 0
        if failed or time.monotonic() > deadline:
            raise GuestError(
                f"the twin does not start\n{guest.run('journalctl -q -u twin | tail -30').stdout}"
            )
        time.sleep(1)
    return json.loads(said)
