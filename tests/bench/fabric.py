# SPDX-License-Identifier: Apache-2.0
"""Processor time and memory of cumulus-fabric without switches, and how they grow with the fabric.

Each size is measured in a fresh process: from the intent to the spelled-out fabric, its audit, the trees and
the commands of every switch. ``python tests/bench/fabric.py`` prints the table; it needs no virtual machine.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SIZES = [(2, 4, 4), (4, 8, 32), (8, 16, 128), (16, 32, 256), (32, 128, 1024)]
"""Spines, leaves, hosts: from the size of the guide's own fabric to its maximum, and four times its hosts."""

RUNS = 5
"""The shortest of so many is taken: processor time, too, depends on what else runs."""

HOST_PORTS, LEAVES_PER_RACK = 64, 2

MEASURE = """
import gc, json, resource, sys, time
import audit
from intent import expand, schema
from tree import commands, leaves, render
from intent.model import Dialect

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def once(text):
    began = time.process_time()
    fabric = expand.expand(schema.parse(text))
    spelled = time.process_time()
    findings = audit.audit(fabric)
    audited = time.process_time()
    assert not [f for f in findings if f.severity.name == "BLOCKED"], findings
    trees = [render.tree(fabric, switch, Dialect.UNTIL_5_14) for switch in fabric.switches]
    rendered = time.process_time()
    lines = sum(len(commands.write(tree, Dialect.UNTIL_5_14).typed) for tree in trees)
    written = time.process_time()
    return (spelled - began, audited - spelled, rendered - audited, written - rendered), fabric, trees, lines

text, before = sys.stdin.read(), peak()
times, fabric, trees, lines = once(text)
memory = peak() - before
settings = sum(1 for tree in trees for _ in leaves(tree))
gc.disable()  # as timeit does
for _ in range(int(sys.argv[1]) - 1):
    times = tuple(map(min, times, once(text)[0]))
print(json.dumps({
    **dict(zip(("expand", "audit", "render", "commands"), times)), "lines": lines, "memory": memory,
    "settings": settings, "switches": len(fabric.switches),
    "hosts": sum(len(rack[0].bonds) for rack in fabric.racks),
}))
"""


def intent(spines: int, leaves: int, hosts: int) -> str:
    """A regular fabric of this size on switches with enough ports, as JSON (which is YAML)."""
    racks = leaves // LEAVES_PER_RACK
    content = {
        "networks": {"oam": {"vlan": 3000, "untagged": True}, "public": {"vlan": 9}, "data": {"vlan": 10}},
        "spines": {
            "count": spines,
            "asn": {"all": 4200000000},
            "loopback": "10.0.1.1",
            "downlinks": f"swp1-{leaves}",
            "ports": leaves,
        },
        "leaves": {
            "asn": {"first": 4200000001},
            "loopback": "10.0.0.1",
            "segment-mac": "44:38:39:FF:00:01",
            "uplinks": f"swp{HOST_PORTS + 1}-{HOST_PORTS + spines}",
            "ports": HOST_PORTS + spines,
        },
        "racks": [{"count": racks, "hosts": f"swp1-{hosts // racks}"}],
    }
    return json.dumps(content)


def measure(spines: int, leaves: int, hosts: int) -> dict[str, float]:
    """Return one process' figures for one size: seconds, mebibytes, counts."""
    path = os.pathsep.join(str(ROOT / part) for part in ("lib", "charms/cumulus-fabric/src"))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(RUNS)],
        input=intent(spines, leaves, hosts),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    """Print one line for each size, and how the last one compares with the one before."""
    columns = ("expand", "audit", "render", "commands", "settings", "lines", "memory", "per host")
    widths = (6, 7, 7, 8, 8, 6, 8, 8)
    heads = "  ".join(f"{head:>{width}}" for head, width in zip(columns, widths))
    print(f"{'spines x leaves x hosts':24} {heads}")
    totals: list[tuple[str, float, float]] = []
    for size in SIZES:
        found = measure(*size)
        assert (found["switches"], found["hosts"]) == (size[0] + size[1], size[2])
        times = [found[key] for key in ("expand", "audit", "render", "commands")]
        name = " x ".join(str(number) for number in size)
        each = sum(times) / size[2] * 1000
        shown = [f"{seconds * 1000:.0f} ms" for seconds in times]
        shown += [str(found["settings"]), str(found["lines"]), f"{found['memory']:.1f} MiB", f"{each:.2f} ms"]
        row = "  ".join(f"{text:>{width}}" for text, width in zip(shown, widths))
        print(f"{name:24} {row}", flush=True)
        totals.append((name, sum(times), found["settings"]))
    (name, few, little), (other, many, much) = totals[-2:]
    ratios = f"{many / few:.1f} times the processor time for {much / little:.1f} times the settings"
    print(f"{other} against {name}: {ratios}")


if __name__ == "__main__":
    main()
