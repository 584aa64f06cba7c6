# SPDX-License-Identifier: Apache-2.0
"""The operator's waiting time at 16, 64 and 256 nodes: each command against simulated services.

MAAS and OpenStack take DELAY seconds for each request, whatever else they answer, and so do Juju's units for
an action or a script.
Fails if the processor time of a command grows more than the number of nodes by half.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

import fabric
from acceptance.measure.shells import hosting
from converge.render import MOST
from lab.juju.fleet import Fleet
from lab.maas import Region
from lab.maassite import NUMA, PORTS, commission, discover, grown, written
from lab.openstack.machines import Machines
from lab.openstack.operator import world_in
from maas import __main__ as maas
from operate import health, verify
from operate.client import Juju
from operate.process import Output

ROOT = Path(__file__).parents[2]
NODES = (16, 64, 256)
SWITCHES = {16: (2, 2), 64: (4, 8), 256: (16, 32)}
"""Spines and leaves for so many nodes."""
DELAY = 0.05
OPEN = urllib.request.build_opener
Times = dict[str, tuple[float, float, int]]
"""By command: seconds, seconds of the processor, and lines that it prints."""


class Late(Region):
    """A region that needs a while for each request; `used` is what the simulation of all of them took."""

    used = 0.0

    def http_open(self, request):
        time.sleep(DELAY)
        return super().http_open(request)

    def one(self, request):
        began = time.thread_time()
        try:
            return super().one(request)
        finally:
            Late.used += time.thread_time() - began


class Units(Fleet):
    """Units that need a while for an action."""

    def __call__(self, command, given, seconds, *, shown=False):
        time.sleep(DELAY)
        return super().__call__(command, given, seconds, shown=shown)


class Computes(Machines):
    """Compute nodes that need a while for a script, and have as many servers: that of node 3 has the id 3."""

    def run_on(self, unit, script):
        time.sleep(DELAY)
        return Output(0, unit.partition("/")[2])


def timed(run: Callable[[], object]) -> tuple[float, float, int]:
    """One row of this process; a command that ends with 2 could not do it."""
    out = io.StringIO()
    began, used = time.monotonic(), time.process_time() - Late.used
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert run() != 2, out.getvalue()[-2000:]
    return time.monotonic() - began, time.process_time() - Late.used - used, len(out.getvalue().splitlines())


def command(*words: str, given: str = "") -> tuple[float, float, int]:
    """The same for a command in a process of its own, with Python's start."""
    parts = ("lib", "tools", "charms/cumulus-fabric/src")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in parts)}
    began, used = time.monotonic(), os.times()
    done = subprocess.run(
        [sys.executable, *words], input=given, env=environ, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr[-2000:]
    after = os.times()
    processor = after.children_user + after.children_system - used.children_user - used.children_system
    return time.monotonic() - began, processor, len(done.stdout.splitlines())


def site(nodes: int, folder: Path) -> Times:
    """MAAS' machines from nothing, and the bundle for them."""
    region = Late()
    discover(region, "192.168.0.0/16")
    urllib.request.build_opener = partial(OPEN, region)
    path, overlay = grown(written(folder), nodes), folder / "overlay.yaml"

    def verb(name: str, *words: str) -> Callable[[], int]:
        return lambda: maas.main([name, str(path), *words])

    found = {"maas apply, of new machines": timed(verb("apply"))}
    commission(region, "controller", PORTS[:1])
    for number in range(nodes):
        commission(region, f"node{number}", PORTS, NUMA)
    found["maas plan, of their networks"] = timed(verb("plan"))
    found["maas apply, of their networks"] = timed(verb("apply"))
    found["maas verify"] = timed(verb("verify"))
    found["maas overlay"] = timed(verb("overlay", "--output", str(overlay)))
    bundle = str(ROOT / "bundles/ovn-offload-jammy-caracal.yaml")
    checker = str(ROOT / "tools/check")
    found["bundle checker"] = command(checker, bundle, "--overlay", str(overlay), "--site", str(path))
    return found


def model(nodes: int) -> Times:
    """The charms of a deployed model, of which a tenth is not verified."""
    units = Units(nodes)
    units.failing = {f"sriov-switchdev/{number}" for number in range(0, nodes, 10)}
    juju = Juju(run=units)

    def verified() -> None:
        print(verify.shown(verify.verify(juju), MOST))

    def healthy() -> None:
        print(health.health(juju).shown(MOST))

    return {"juju verify": timed(verified), "juju health": timed(healthy)}


def instances(nodes: int, folder: Path) -> Times:
    """The acceptance test, which has two servers however many nodes there are."""
    with world_in(folder, "2024.1") as world:
        world.openstack.nova.hosts = {f"node{number}.maas": "nova" for number in range(nodes)}
        del world.site["nodes"]
        answer = world.openstack.answer

        def late(*request):
            time.sleep(DELAY)
            began = time.thread_time()
            try:
                return answer(*request)
            finally:
                Late.used += time.thread_time() - began

        world.openstack.answer = late
        juju = Juju(run=Computes(world.openstack, folder))

        def planned() -> int:
            status, out, err = world.run("plan")
            print(out + err)
            return status

        return {
            "acceptance plan": timed(planned),
            "acceptance measure, finding servers": timed(
                lambda: print(*hosting(juju, {"vm1": "0", "vm2": str(nodes - 1)}))
            ),
        }


def switches(nodes: int) -> Times:
    """Measure the commands that need the intent alone."""
    text = fabric.intent(*SWITCHES[nodes], nodes)
    cli = ("-m", "cli")
    return {
        "fabric audit": command(*cli, "audit", "--intent", "-", given=text),
        "fabric show": command(*cli, "show", "--intent", "-", given=text),
        "fabric show --format svg": command(*cli, "show", "--format", "svg", "--intent", "-", given=text),
        "fabric render": command(*cli, "render", "--intent", "-", given=text),
    }


def main() -> None:
    """Print a line for each command: seconds, processor time in brackets, and the lines that it prints."""
    found: dict[int, Times] = {}
    for nodes in NODES:
        with tempfile.TemporaryDirectory() as folder:
            found[nodes] = {
                **site(nodes, Path(folder)),
                **model(nodes),
                **instances(nodes, Path(folder)),
                **switches(nodes),
            }
    print(f"{'seconds (of the processor), lines':36}" + "".join(f"{nodes:>20} nodes" for nodes in NODES))
    for name in found[NODES[0]]:
        rows = [found[nodes][name] for nodes in NODES]
        cells = (f"{total:>11.2f} ({used:5.2f}) {lines:6}" for total, used, lines in rows)
        print(f"{name:36}" + " ".join(cells))
        (_, before, _), (_, now, _) = rows[-2:]
        most = 1.5 * NODES[-1] / NODES[-2] * max(before, 0.1)
        assert now < most, f"{name}: {now:.2f} s of the processor at {NODES[-1]} nodes, {before:.2f} s before"


if __name__ == "__main__":
    main()
