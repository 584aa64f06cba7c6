# SPDX-License-Identifier: Apache-2.0
"""Pack every charm for each of its platforms with charmcraft, and look into each artifact.

tox -e pack                      # all charms; the artifacts and their SBOMs are left in build/
tox -e pack -- sriov-switchdev   # one
"""

import argparse
import subprocess
import sys
import time

import artifact
import base
import lock
import product
import sbom
import stage


def main(arguments: list[str]) -> int:
    """Pack and inspect; print one line per artifact, and every fault of it below. Then the tests of both."""
    parser = argparse.ArgumentParser(
        prog="tox -e pack --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", metavar="CHARM", nargs="*", help="all without one")
    names = parser.parse_args(arguments).names
    charms = sorted(path.parent for path in stage.ROOT.glob("charms/*/charmcraft.yaml"))
    if unknown := set(names) - {charm.name for charm in charms}:
        print(f"no such charm: {', '.join(sorted(unknown))}")
        return 2
    if reason := base.unfit():
        print(reason)
        return 2
    failed = False
    for charm in (charm for charm in charms if not names or charm.name in names):
        for platform in stage.platforms(charm):
            began = time.monotonic()
            print(f"packing {charm.name} for {platform.name}", flush=True)
            made = product.make(charm, platform, stage.BUILD)
            faults = [
                *lock.faults(made.directory),
                *artifact.faults(made.packed, platform),
                *sbom.faults(made.packed, made.bill),
            ]
            size = made.packed.stat().st_size / 1e6
            print(f"  {made.packed.relative_to(stage.ROOT)}  {size:.1f} MB  {time.monotonic() - began:.0f} s")
            for fault in faults:
                print(f"  FAULT: {fault}")
            failed = failed or bool(faults)
    if failed:
        return 1
    tests = ["tests/pack", "tests/bundle/test_packed.py"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *tests], cwd=stage.ROOT, check=False
    ).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except base.PackError as error:
        sys.exit(f"{error}")
