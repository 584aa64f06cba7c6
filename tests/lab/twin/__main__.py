# SPDX-License-Identifier: Apache-2.0
"""Run a rack of twins on this machine until it is told to end: ``python -m lab.twin [WIRING.json]``.

Prints one JSON line when every switch answers: the URL of each switch's NVUE interface, and the certificate
that they all present.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

from lab.nvue import Certificate, Server, Switch
from lab.twin import rack
from lab.twin.switch import TwinSwitch
from lab.twin.wiring import Wiring, reference

PORT = 8765
BOOTS, WORKS = 20.0, 1.0
"""Seconds until a switch answers after a reboot, and of each step with an image; a real one takes longer."""

AT_ONCE = 2  # FRRs that start side by side: more only makes each of them slower


def serve(
    wiring: Wiring, release: str, images: dict[str, str], directory: Path, stack: ExitStack
) -> dict[str, str]:
    """Bring the rack up and return the switches' URLs; the stack takes it down again."""
    rack.remove(wiring)  # what a killed run left
    stack.callback(rack.remove, wiring)
    rack.make(wiring)
    twins = {name: TwinSwitch(name, lease) for name, lease in wiring.switches.items()}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for twin, started in [(twin, pool.submit(twin.start)) for twin in twins.values()]:
            stack.callback(twin.stop)
            started.result()
    addresses = {name: lease.partition("/")[0] for name, lease in wiring.switches.items()}
    certificate = Certificate.make(directory, names=tuple(f"IP:{a}" for a in addresses.values()))
    for name, twin in twins.items():
        switch = Switch(release=release, backend=twin)
        switch.images.server, switch.images.boots = images, BOOTS
        switch.images.takes = dict.fromkeys(switch.images.takes, WORKS)
        if issue := twin.apply(switch.applied):
            raise RuntimeError(f"{name}: {issue}")
        stack.enter_context(_server(name, switch, certificate))
    return {name: f"https://{address}:{PORT}" for name, address in addresses.items()}


def _server(namespace: str, switch: Switch, certificate: Certificate) -> Server:
    """A server whose socket is in the switch's namespace: there it stays, whoever serves it."""
    made: list[Server] = []

    def make() -> None:
        with Path(f"/run/netns/{namespace}").open() as there:
            os.setns(there.fileno(), os.CLONE_NEWNET)  # of this thread alone
        made.append(Server(switch, certificate, address="0.0.0.0", port=PORT))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]


def main() -> int:
    """Run until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m lab.twin", description=__doc__.partition("\n")[0])
    parser.add_argument("wiring", nargs="?", type=Path, help="JSON; the reference design's rack without it")
    parser.add_argument("--release", default="5.9.2", help="of Cumulus Linux: decides the tree's dialect")
    parser.add_argument("--image", nargs=2, metavar=("URL", "RELEASE"), help="that an operator's server has")
    options = parser.parse_args()
    images = dict([options.image] if options.image else [])
    wiring = Wiring.load(options.wiring) if options.wiring else reference()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # unwinds the stack, wherever it stands
    with tempfile.TemporaryDirectory(prefix="twin-") as directory, ExitStack() as stack:
        urls = serve(wiring, options.release, images, Path(directory), stack)
        print(json.dumps({"switches": urls, "certificate": f"{directory}/cumulus.pem"}), flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
