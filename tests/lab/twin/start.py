# SPDX-License-Identifier: Apache-2.0
"""Start a rack of twins in a guest, from outside."""

from pathlib import Path

from lab import code
from lab.guest import Guest, GuestError
from lab.image import digest
from lab.twin.wiring import Wiring

SAYS = "/run/twin.json"
"""The file that :mod:`lab.twin` writes once every switch answers."""

STREAMS = f"--property=StandardOutput=truncate:{SAYS} --property=StandardError=journal"
UNIT = f"systemd-run --quiet --unit=twin {STREAMS}"
COPY = "/opt/twin"
LOG = "journalctl -q -u twin | tail -30"
ANSWERS = f"""until [ -s {SAYS} ]; do
    if systemctl -q is-failed twin; then
        echo 'the twin does not start' >&2
        {LOG} >&2
        exit 1
    fi
    sleep 1
done
"""
"""The end of a script that starts the twin: wait for what it says, or fail with its log."""


def kept(wiring: Wiring) -> str:
    """A script that copies the twin's code into a guest and starts it there, for the guest's snapshot."""
    here = Path(__file__).parent
    sources = digest(sorted([*here.glob("*.py"), *(here.parent / "nvue").glob("*.py")]))
    return f"""set -e
# {sources}
mkdir -p {COPY}/lab
cd {code.MOUNTED}/tests
cp -r lab/__init__.py lab/nvue lab/twin {COPY}/lab
cat >{COPY}/wiring.json <<'END'
{wiring.dump()}
END
{UNIT} --setenv=PYTHONPATH={COPY} python3 -m lab.twin {COPY}/wiring.json
{ANSWERS}"""


def start(guest: Guest, arguments: str = "", patience: int = 600) -> None:
    """Start it from the project's code, and return when every switch answers; then ``SAYS`` is there.

    Args:
        guest: where.
        arguments: of ``python -m lab.twin``, as the shell reads them.
        patience: seconds.

    Raises:
        GuestError: it has ended, or is not there within ``patience`` seconds; with its log.

    """
    run = f"--setenv=PYTHONPATH={code.MOUNTED}/tests --property=RequiresMountsFor={code.MOUNTED} python3"
    try:
        guest.run(f"set -e\n{UNIT} {run} -m lab.twin {arguments}\n{ANSWERS}", timeout=patience)
    except GuestError as error:
        raise GuestError(f"{error}\n{guest.run(LOG, check=False).stdout}") from error
