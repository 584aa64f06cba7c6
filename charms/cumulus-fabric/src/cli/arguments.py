# SPDX-License-Identifier: Apache-2.0
"""The arguments that several verbs share. Loads nothing that speaks to a switch."""

import argparse
from collections.abc import Sequence

from converge.render import MOST
from intent import places
from intent.model import Fabric, Switch
from names import unknown_switch
from rest import MAX_PARALLEL

from cli.inputs import UsageError

CREDENTIALS = (
    "one line user:password, then lines NAME user:password for switches with others, "
    "in a file that only you can read, or - for standard input"
)


def arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the arguments of the verb."""
    if verb == "list-backups":
        _backups(parser)
        parser.add_argument("--format", choices=("table", "json"), default="table")
        all_rows(parser)
        return
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="for a request (30)")
    parser.add_argument(
        "--parallel", type=int, default=MAX_PARALLEL, metavar="N", help=f"switches at once ({MAX_PARALLEL})"
    )
    if verb == "compare-backups":
        _trusting(parser)
        _backups(parser)
        words = "the kept configuration"
        parser.add_argument("--backup", type=int, required=True, metavar="NUMBER", help=words)
        words = "another one of that switch; without, what it runs"
        parser.add_argument("--against", type=int, metavar="NUMBER", help=words)
        return
    all_rows(parser)
    if verb == "pins":
        return
    if verb == "first-password":
        parser.add_argument(
            "--known-hosts", default="~/.ssh/known_hosts", metavar="FILE", help="(~/.ssh/known_hosts)"
        )
        return
    _trusting(parser)
    if verb == "rotate-password":
        _approving(parser, verb)
        return
    if verb == "cables":
        parser.add_argument("--format", choices=("table", "json"), default="table")
        return
    parser.add_argument(
        "--record", default="", metavar="FILE", help="the record of what was made and drained"
    )
    if verb in ("plan", "apply"):
        parser.add_argument("--remove", default="", metavar="NAMES", help="foreign objects to remove")
        parser.add_argument(
            "--replaced", action="append", default=[], metavar="NAME", help="another device; repeatable"
        )
    if verb in ("plan", "apply", "upgrade"):
        parser.add_argument("--canary", default="", metavar="NAME", help="the switch that goes first")
    if verb != "verify":
        parser.add_argument("--order", choices=("all", "role"), default="all", help="order after the canary")
    if verb in ("plan", "verify"):
        parser.add_argument("--format", choices=("table", "json"), default="table")
    else:
        _changing(parser, verb)


def _trusting(parser: argparse.ArgumentParser) -> None:
    """Add what opens NVUE of the switches."""
    words = f"{CREDENTIALS} ({places.CREDENTIALS})"
    parser.add_argument("--credentials", default=places.CREDENTIALS, metavar="FILE", help=words)
    words = "the same with the passwords that some switches still have, while you change them "
    words += f"({places.PREVIOUS} if it exists, without --credentials)"
    parser.add_argument("--previous-credentials", metavar="FILE", help=words)
    words = "PEM of the certificate for switches that ask for one (mTLS)"
    parser.add_argument("--client-certificate", default="", metavar="FILE", help=words)
    words = "PEM of its key, without a passphrase, in a file that only you can read"
    parser.add_argument("--client-key", default="", metavar="FILE", help=words)
    parser.add_argument("--ca", metavar="FILE", help="PEM of the authorities that signed the certificates")
    parser.add_argument(
        "--pin", action="append", default=[], metavar="NAME=SHA256", help="only this certificate; repeatable"
    )
    words = f"the same for many: what the verb pins prints ({places.PINS} without --ca and --pin)"
    parser.add_argument("--pins", metavar="FILE", help=words)


def _changing(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add what a verb takes that changes switches."""
    _backups(parser)
    parser.add_argument(
        "--confirm", type=int, default=300, metavar="SECONDS", help="until a switch reverts it (300)"
    )
    parser.add_argument("--settle", type=float, default=90.0, metavar="SECONDS", help="until all is up (90)")
    if verb != "undrain":
        parser.add_argument("--cut-off", default="", metavar="NAMES", help="who may lose their network")
    if verb in ("apply", "rollback", "upgrade"):
        _approving(parser, verb)
    if verb == "rollback":
        words = "a kept configuration, instead of --switch; repeatable"
        parser.add_argument("--backup", type=int, action="append", default=[], metavar="NUMBER", help=words)
    if verb == "upgrade":
        parser.add_argument("--image", required=True, metavar="URL", help="the image on your server")
        parser.add_argument("--sha256", default="", metavar="DIGITS", help="its SHA-256")
    if verb == "apply":
        parser.add_argument("--known-hosts", default="", metavar="FILE", help="for Onyx and Comware switches")


def _approving(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the digest of a plan that is to be done."""
    parser.add_argument("--plan", default="", metavar="DIGEST", help=f"{verb} only by this plan")


def _backups(parser: argparse.ArgumentParser) -> None:
    """Add the folder with what switches ran before and after runs."""
    words = f"a folder of yours alone, for what switches ran before and after ({places.BACKUPS})"
    parser.add_argument("--backups", default=places.BACKUPS, metavar="FOLDER", help=words)


def all_rows(parser: argparse.ArgumentParser) -> None:
    """Add the argument for tables that are not cut."""
    parser.add_argument("--all", action="store_true", help=f"all rows of a table; default: the first {MOST}")


def chosen(fabric: Fabric, names: Sequence[str]) -> list[Switch]:
    """The switches of these names, or all. Raises UsageError if the fabric has no such switch."""
    require_known(fabric, names, "--switch")
    return [switch for switch in fabric.switches if not names or switch.name in names]


def require_known(fabric: Fabric, names: Sequence[str], argument: str) -> None:
    """Raise UsageError, which names the argument, if the fabric has no switch of one of these names."""
    if wrong := unknown_switch(fabric, names, argument):
        raise UsageError(wrong.sentence())


def most(options: argparse.Namespace) -> int | None:
    """How many rows a table has at most."""
    return None if options.all else MOST
