# SPDX-License-Identifier: Apache-2.0
"""`tox -e juju -- VERB`: what a deployed model needs from its operator, each in one command.

verify   run every charm's action verify, and print one table
health   watch all hosts for five seconds, and print what is wrong there and in the fabric, worst first
adopt    print what these charms would own in a cloud that offloads already, and the steps; writes nothing
secret   give cumulus-fabric the switches' user and password, and how it recognises the switches
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from converge import StepError
from converge.render import MOST
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
    giving.add_argument(
        "--credentials", type=Path, required=True, metavar="FILE", help="one line user:password, mode 0600"
    )
    giving.add_argument("--ca", type=Path, metavar="FILE", help="PEM of the authorities of the switches")
    giving.add_argument(
        "--pin", action="append", default=[], metavar="NAME=SHA256", help="trust this switch's certificate"
    )
    giving.add_argument(
        "--pins", type=Path, metavar="FILE", help="the same for many: what tox -e fabric -- pins prints"
    )
    giving.add_argument("--name", default="switches", help="the secret's name; default: switches")
    giving.add_argument("--application", default=secret.CHARM, help=f"default: {secret.CHARM}")
    return top


def main(arguments: list[str]) -> int:
    """Run one verb; 0 if all is in order, 1 if something is not, 2 if the command could not do it."""
    options = parser().parse_args(arguments)
    juju = Juju(options.model)
    try:
        return _VERBS[options.verb](juju, options)
    except StepError as error:
        print("; ".join(filter(None, (str(error), error.remedy))), file=sys.stderr)
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
    pinned = secret.pinned(options.pins, options.pin)
    certificates += [f"pinned-certificates={pinned}"] if pinned else []
    uri = secret.give(juju, options.name, options.application, options.credentials, certificates)
    print(f"{options.application} has {uri}; juju run {options.application}/leader plan uses it.")
    return 0


_VERBS: dict[str, Callable[[Juju, argparse.Namespace], int]] = {
    "verify": _verify,
    "health": _health,
    "adopt": _adopt,
    "secret": _secret,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
