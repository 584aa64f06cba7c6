# SPDX-License-Identifier: Apache-2.0
"""`tox -e juju -- VERB`: what a deployed model needs from its operator, each in one command.

verify   run every charm's action verify, and print one table
health   watch all hosts for five seconds, and print what is wrong there and in the fabric, worst first
adopt    print what these charms would own in a cloud that offloads already, and the steps; writes nothing
secret   give cumulus-fabric the switches' user and password, and how it recognises the switches
drain    empty a node: Nova's service off, its instances elsewhere; reboot it, and take it into use again
roll     the same for all nodes that ask for a reboot, one after the other
firmware print what firmware runs where, behind or ahead of a baseline; roll images out, a canary first
undo     give everything back: VFs to ovn-chassis, firmware as it was, no charm; or empty a node that leaves

drain, roll, firmware and undo print their plan, and do it with --apply.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from converge import StepError
from converge.render import MOST
from intent import places
from operate import health, running, secret, verify
from operate.adopt import text
from operate.adopt.adoption import adoption
from operate.adopt.hypervisors import vfs_of
from operate.client import Juju


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="tox -e juju --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--model", "-m", default="", help="as for juju; default: the current model")
    verbs = top.add_subparsers(dest="verb", required=True)
    for name in ("verify", "health"):
        asking = verbs.add_parser(name, parents=[common])
        shown = f"all rows; default: the worst {MOST}"
        asking.add_argument("--all", action="store_const", dest="most", const=None, default=MOST, help=shown)
    adopting = verbs.add_parser("adopt", parents=[common])
    adopting.add_argument(
        "--vfs",
        default="",
        metavar="VFS",
        help="the ports and their VFs, such as 'enp3s0f0:8 enp3s0f1:8', or a number",
    )
    giving = verbs.add_parser("secret", parents=[common])
    words = f"one line user:password, mode 0600; default: {places.CREDENTIALS}"
    giving.add_argument("--credentials", type=Path, default=places.CREDENTIALS, metavar="FILE", help=words)
    giving.add_argument("--ca", type=Path, metavar="FILE", help="PEM of the authorities of the switches")
    giving.add_argument(
        "--pin", action="append", default=[], metavar="NAME=SHA256", help="trust this switch's certificate"
    )
    words = f"what tox -e fabric -- pins prints; default: {places.PINS}, without --ca and --pin"
    giving.add_argument("--pins", metavar="FILE", help=words)
    giving.add_argument("--name", default="switches", help="the secret's name; default: switches")
    giving.add_argument("--application", default=secret.CHARM, help=f"default: {secret.CHARM}")
    _emptying(verbs, common)
    return top


def _emptying(verbs: Any, common: argparse.ArgumentParser) -> None:
    """The verbs drain, roll, firmware and undo."""
    reach = argparse.ArgumentParser(add_help=False, parents=[common])
    reach.add_argument("--cloud", default="", metavar="NAME", help="the cloud's name in clouds.yaml")
    reach.add_argument("--cacert", default="", metavar="FILE", help="the CA of the cloud's certificates")
    reach.add_argument("--apply", action="store_true", help="do it; default: print the plan, write nothing")
    wait = "minutes for a node to come back verified, or for units to go; default: 60"
    reach.add_argument("--wait", type=int, default=60, metavar="MIN", help=wait)
    shared = argparse.ArgumentParser(add_help=False, parents=[reach])
    stop = "reboot although instances stop that cannot be moved"
    shared.add_argument("--stop-instances", action="store_true", help=stop)
    one = verbs.add_parser("drain", parents=[shared])
    one.add_argument("node", metavar="NODE", help="its host name, or the number of its machine in Juju")
    one.add_argument("--keep", action="store_true", help="only empty it, and leave it out of use")
    verbs.add_parser("roll", parents=[shared])
    images = verbs.add_parser("firmware", parents=[shared])
    baseline = "a version for each board (PSID), as YAML; default: those of the images that nic-firmware has"
    images.add_argument("--baseline", type=Path, metavar="FILE", help=baseline)
    images.add_argument(
        "--canary", default="", metavar="NODE", help="the first node; default: one with few instances"
    )
    images.add_argument(
        "--percent", type=int, default=10, help="nodes that burn together after it; default: 10"
    )
    images.add_argument("--all", action="store_const", dest="most", const=None, default=MOST, help="all rows")
    undoing = verbs.add_parser("undo", parents=[reach])
    undoing.add_argument(
        "node", nargs="*", metavar="NODE", help="nodes that leave, as for drain; default: the whole model"
    )
    without = "no VFs from the next boot on; needs --cloud, since no instance may have one"
    undoing.add_argument("--without-vfs", action="store_true", help=without)


def main(arguments: list[str]) -> int:
    """Run one verb; 0 if all is in order, 1 if something is not, 2 if the command could not do it."""
    options = parser().parse_args(arguments)
    juju = Juju(options.model)
    try:
        return _VERBS[options.verb](juju, options)
    except StepError as error:
        print("; ".join(filter(None, (str(error), error.remedy))), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Interrupted; {options.verb} goes on where it was when you run it again.", file=sys.stderr)
        return 2


def _verify(juju: Juju, options: argparse.Namespace) -> int:
    rows = verify.verify(juju)
    print(verify.shown(rows, options.most))
    return 0 if all(row.verified == "true" for row in rows) else 1


def _health(juju: Juju, options: argparse.Namespace) -> int:
    found = health.health(juju)
    print(found.shown(options.most))
    return 1 if found.ill else 0


def _adopt(juju: Juju, options: argparse.Namespace) -> int:
    given = vfs_of(options.vfs) if options.vfs else None
    if given and given.most is None:
        raise StepError(f"--vfs is {options.vfs!r}, which is no VF", "name the VFs that are there")
    found = running.read(juju)
    print(text.text(found.name, adoption(found, given), options.model))
    return 0


def _secret(juju: Juju, options: argparse.Namespace) -> int:
    certificates = [f"ca-certificate=@{options.ca}"] if options.ca else []
    pins = places.pins(options.pins, others=bool(options.ca or options.pin))
    pinned = secret.pinned(Path(pins).expanduser() if pins else None, options.pin)
    certificates += [f"pinned-certificates={pinned}"] if pinned else []
    uri = secret.give(juju, options.name, options.application, options.credentials.expanduser(), certificates)
    print(f"{options.application} has {uri}; juju run {options.application}/leader plan uses it.")
    return 0


def _with_nova(juju: Juju, options: argparse.Namespace) -> int:
    from drain import command  # with openstacksdk, which takes longer to import than the other verbs to run

    return command.VERBS[options.verb](juju, options)


def _undo(juju: Juju, options: argparse.Namespace) -> int:
    from undo import command  # as above

    return command.undo(juju, options)


_VERBS: dict[str, Callable[[Juju, argparse.Namespace], int]] = {
    "verify": _verify,
    "health": _health,
    "adopt": _adopt,
    "secret": _secret,
    "drain": _with_nova,
    "roll": _with_nova,
    "firmware": _with_nova,
    "undo": _undo,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
