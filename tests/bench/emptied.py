# SPDX-License-Identifier: Apache-2.0
"""How long ``tox -e juju -- roll`` takes, with the code of the verb itself.

``PYTHONPATH=lib:tests:tools python tests/bench/emptied.py [NODES …]`` prints hours, and minutes a node. Nova
and Juju are simulated, and no real time passes for the nodes. A boot takes as long as in :mod:`reboots`, the
move of an instance a minute: a site has to put its own figure there, since it depends on disks and memory.
The verb takes one node at a time, so that the hours grow with the number of nodes. Two small sizes show it::

    hours of a roll                       4        8   minutes a node
    no instance                         0.3      0.7              5.0
    2 with VFs, 4 without               0.8      1.6             11.0

256 nodes take 21 and 47 hours. With ``approve-reboot``, which empties no node, they take 22.7 hours one at a
time, and 1.6 hours with reboot-parallel=10% in four zones (:mod:`reboots`).
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

from drain import steps
from lab.juju.agents import BOOT
from lab.juju.nodes import Nodes
from lab.openstack.operator import world_in
from operate.emptied import Cloud

SIZES = (4, 8)
LOOKS = 12
"""Looks of the verb, 5 s apart, until Nova has moved an instance, live or cold: a minute, in which a cold
move is confirmed as well."""
LOADS = {"no instance": (0, 0), "2 with VFs, 4 without": (2, 4)}
"""Instances of each node: those that are moved cold, and those that are moved live."""


def hours(nodes: int, cold: int, live: int) -> float:
    """Hours of a roll of so many nodes, each of which has these instances."""
    with tempfile.TemporaryDirectory() as directory, world_in(Path(directory), "2024.1") as world:
        cloud = Cloud(world)
        cloud.nova.servers.clear()
        names = [f"node{number}.maas" for number in range(nodes)]
        cloud.nova.hosts = dict.fromkeys(names, "nova")
        for name in names:
            for number in range(cold + live):
                cloud.add(f"{name}-{number}", name, "direct" if number < cold else "normal")
        cloud.nodes = Nodes(cloud.nova, names, looks=round(BOOT / steps.EVERY))
        cloud.nova.moving.looks, cloud.nova.moving.ending = LOOKS, 0
        began = cloud.clock.time()
        captured = SimpleNamespace(readouterr=lambda: SimpleNamespace(out="", err=""))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            status, _ = cloud.typed(captured, "roll", "--apply")
        assert (status, cloud.nodes.needing) == (0, set()), said.getvalue()[-2000:]
        return (cloud.clock.time() - began) / 3600


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the hours of each size and load, and what each further node takes."""
    print(
        f"{'hours of a roll':30}" + "".join(f"{size:>9}" for size in sizes) + "   minutes a node", flush=True
    )
    for what, (cold, live) in LOADS.items():
        found = [hours(size, cold, live) for size in sizes]
        minutes = 60 * (found[-1] - found[0]) / (sizes[-1] - sizes[0]) if len(sizes) > 1 else 0.0
        print(f"{what:30}" + "".join(f"{each:>9.1f}" for each in found) + f"{minutes:>17.1f}", flush=True)


if __name__ == "__main__":
    main(tuple(sorted(map(int, sys.argv[1:]))) or SIZES)
