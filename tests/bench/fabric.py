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
SIZES = [(2, 4, 4), (4, 8, 32), (8, 16, 128), (16, 32, 256), (32, 64, 512)]
"""Spines, leaves, hosts: from the size of the guide's own fabric to its maximum, and twice that."""

HOST_PORTS, LEAVES_PER_RACK = 64, 2

MEASURE = """
import json, resource, sys, time
import audit
from intent import expand, schema
from tree import commands, render
from intent.model import Dialect

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

text, before, began = sys.stdin.read(), peak(), time.process_time()
fabric = expand.expand(schema.parse(text))
spelled = time.process_time()
findings = audit.audit(fabric)
audited = time.process_time()
assert not [f for f in findings if f.severity.name == "BLOCKED"], findings
trees = {switch.name: render.tree(fabric, switch, Dialect.UNTIL_5_14) for switch in fabric.switches}
rendered = time.process_time()
lines = sum(len(commands.write(tree, Dialect.UNTIL_5_14).typed) for tree in trees.values())
written = time.process_time()
print(json.dumps({
    "expand": spelled - began, "audit": audited - spelled, "render": rendered - audited,
    "commands": written - rendered, "lines": lines, "memory": peak() - before,
    "switches": len(fabric.switches), "hosts": sum(len(rack[0].bonds) for rack in fabric.racks),
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
    """What one process says of one size: seconds, mebibytes, counts."""
    path = os.pathsep.join(str(ROOT / part) for part in ("lib", "charms/cumulus-fabric/src"))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        input=intent(spines, leaves, hosts),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    """Print one line for each size."""
    print("spines x leaves x hosts   expand    audit   render  commands  lines    memory  per host")
    for size in SIZES:
        found = measure(*size)
        assert (found["switches"], found["hosts"]) == (size[0] + size[1], size[2])
        times = [found[key] for key in ("expand", "audit", "render", "commands")]
        name = " x ".join(str(number) for number in size)
        each = sum(times) / size[2] * 1000
        shown = "  ".join(f"{seconds * 1000:4.0f} ms" for seconds in times)
        print(f"{name:24} {shown}  {found['lines']:6}  {found['memory']:4.1f} MiB  {each:4.1f} ms")


if __name__ == "__main__":
    main()
