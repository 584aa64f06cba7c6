# SPDX-License-Identifier: Apache-2.0
"""The bundle's own charms converge a virtual rack; exit status 0 only if all holds that must.

Two spines and four leaves with real FRR behind NVUE's API, and compute nodes with a virtual ConnectX each,
are guests of this machine; Juju's part is played by :mod:`lab.rack.controller`.
"""

import argparse
import sys
from pathlib import Path

from converge import StepError
from cos.server import ServerError
from yamlfile.values import FileError

from lab.guest import GuestError
from lab.host import HostError
from lab.juju.remote import HookError
from lab.rack import build, deployment, layout, report
from lab.rack.scenarios import APART, CLOUD, ONE_MORE, SCENARIOS, TWO_NODES, converge
from lab.shell import interact

BUNDLE = deployment.ROOT / "bundles" / "ovn-offload-jammy-yoga.yaml"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tox -e lab --", description=__doc__.partition("\n")[0])
    parser.add_argument("--bundle", type=Path, default=BUNDLE, help="default: %(default)s")
    parser.add_argument(
        "--overlay", type=Path, action="append", default=[], help="may be given several times"
    )
    parser.add_argument(
        "--nodes", type=int, choices=range(1, layout.MOST + 1), default=2, help="compute nodes"
    )
    parser.add_argument("--scenario", choices=["converge", *SCENARIOS, "all"], default="converge")
    parser.add_argument("--keep", action="store_true", help="leave the rack running until Enter is pressed")
    places = [*(f"node-{number}" for number in range(layout.MOST)), layout.FABRIC]
    parser.add_argument("--shell", choices=places, help="end with a root shell there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", default=Path("build/rack.html"), help="default: %(default)s"
    )
    options = parser.parse_args()
    every = [name for name in SCENARIOS if name not in APART]
    options.more = {"all": every, "converge": []}.get(options.scenario, [options.scenario])
    options.cloud = options.scenario in CLOUD
    options.spare = len(set(options.more) & set(ONE_MORE))
    if options.nodes + options.spare > layout.MOST:
        parser.error(f"{options.scenario} adds {options.spare}; the racks have ports for {layout.MOST} nodes")
    pairs = [name for name in options.more if name in TWO_NODES]
    if pairs and options.nodes < 2:
        parser.error(f"--nodes {options.nodes} is too few for {', '.join(pairs)}: 2 or more")
    there = [*(f"node-{number}" for number in range(options.nodes + options.spare)), layout.FABRIC]
    if options.shell not in (None, *there):
        parser.error(f"--shell {options.shell} is not in this rack: {', '.join(there)}")
    return options


def main() -> int:
    """Run the lab; returns the exit status."""
    options = arguments()
    try:
        for path in filter(None, (options.json, options.html)):  # before the rack, not after its ten minutes
            path.parent.mkdir(parents=True, exist_ok=True)
        wanted = deployment.read(options.bundle, options.overlay, options.nodes + options.spare)
        if wanted.left_out:
            print(f"Left out, since on no compute node: {', '.join(wanted.left_out)}")
        with build.rack(wanted, options.spare, cloud=options.cloud) as rack:
            found = converge(rack, options.more)
            if rack.controller.active:
                found += [check for name in options.more for check in SCENARIOS[name](rack)]
            elif options.more:
                print(f"Left out, since the rack has not converged: {', '.join(options.more)}")
            fabric = picture(rack)
            print(report.text(report.as_json(rack, found)))
            if options.json:
                report.dump(options.json, rack, found)
            report.write_html(options.html, rack, found, fabric)
            print("Report:", *(options.html.with_name(name) for name in (options.html.name, *rack.pages)))
            if options.shell:
                interact(rack.floor.machines[options.shell].guest)
            elif options.keep:
                input("The rack runs on; Enter ends it. ")
        return 0 if all(check.holds for check in found) else 1
    except KeyboardInterrupt:
        print("\nStopped; nothing is left running.", file=sys.stderr)
        return 130
    except (FileError, HostError, GuestError, ServerError, StepError, TimeoutError, HookError) as why:
        print(f"\n{why}", file=sys.stderr)
        return 1


def picture(rack: build.Rack) -> str:
    """The fabric's, by the charm that has one."""
    for name, unit in rack.controller.units.items():
        if "show-fabric" in (unit.app.meta.get("actions") or {}):
            (shown,) = rack.controller.action([name], "show-fabric", format="svg", health=True)
            return str(shown.results.get("fabric", ""))
    return ""


if __name__ == "__main__":
    sys.exit(main())
