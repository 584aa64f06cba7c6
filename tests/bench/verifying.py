# SPDX-License-Identifier: Apache-2.0
"""Processor time of cumulus-fabric's verify on a healthy fabric, of 16 switches against 160.

Both have two spines and seven hosts for each switch. Ten times the switches then have ten times the hosts and
about as many more links. ``python tests/bench/verifying.py`` prints the ratio; no virtual machine is needed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPINES, HOSTS = 2, 7
SIZES = (16, 160)
RUNS = 5
"""The shortest of so many is taken: processor time, too, depends on what else runs."""

MEASURE = """
import gc, json, sys, time
from intent import expand, schema
from intent.model import Dialect
from observe import Observed, SwitchState
from tree import render
from tree.merge import Goal
from verify import verify

fabric = expand.expand(schema.parse(sys.stdin.read()))
ends = {}
for switch in fabric.switches:
    for bond in switch.bonds:
        ends.setdefault(bond.segment.esi, []).append(switch)

def up(**more):
    return {"link": {"oper-status": "up"}, **more}

def state(switch):
    links = {
        link.port: up(lldp={"neighbor": {link.peer: {"port": {"name": link.peer_port, "type": "ifname"}}}})
        for link in switch.links
    }
    members = {name: up() for bond in switch.bonds for name in bond.members}
    bonds = {bond.name: up(bond={"member": dict.fromkeys(bond.members, {})}) for bond in switch.bonds}
    session = {"state": "established", "address-family": {"l2vpn-evpn": {}}}
    return {
        "interface": links | members | bonds,
        "neighbor": {link.port: session for link in switch.links},
        "vni": {str(network.vni): {"vlan": network.vlan} for network in switch.networks},
        "roce": {"mode": switch.roce},
        "esi": {
            bond.segment.esi: {
                "local-interface": bond.name,
                "remote-vtep": {leaf.loopback: {} for leaf in ends[bond.segment.esi] if leaf != switch},
            }
            for bond in switch.bonds
        },
    }

wanted = {each.name: render.tree(fabric, each, Dialect.UNTIL_5_14) for each in fabric.switches}
seen = Observed({
    each.name: SwitchState(each.name, "5.9.2", wanted[each.name], state(each)) for each in fabric.switches
})
times = []
gc.disable()  # as timeit does
for _ in range(int(sys.argv[1])):
    began = time.process_time()
    patches = {name: Goal(wanted[name]).patch(each.applied) for name, each in seen.switches.items()}
    found = verify(fabric, patches, seen)
    times.append(time.process_time() - began)
    assert not [each for each in found if each.severity], found[:3]
print(json.dumps({"seconds": min(times), "switches": len(fabric.switches)}))
"""


def seconds(switches: int) -> float:
    """Return one process' figures for one size."""
    import fabric

    leaves = switches - SPINES
    text = fabric.intent(SPINES, leaves, HOSTS * switches)
    path = os.pathsep.join(str(ROOT / part) for part in ("lib", "charms/cumulus-fabric/src"))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(RUNS)],
        input=text,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["switches"] == switches
    return found["seconds"]


def main() -> None:
    """Print both times and their ratio."""
    few, many = (seconds(size) for size in SIZES)
    print(f"{f'verify of {SIZES[0]} switches, processor time':58} {few:7.3f} s")
    print(f"{f'verify of {SIZES[1]} switches, processor time':58} {many:7.3f} s   ratio {many / few:.1f}")


if __name__ == "__main__":
    main()
