# SPDX-License-Identifier: Apache-2.0
"""The verbs on a command line, without Juju: for previews, for CI, and before Juju is deployed.

``render``, ``audit``, ``show``, ``fix-numbers`` and ``list-backups`` need no switches; the others do.
Exit status: 0 for success, 1 if something is wrong with the fabric, 2 for a wrong command.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from audit import audit
from converge import Severity
from converge.render import cut_table, findings_as_json
from intent import expand, numbers, places
from intent.model import Dialect, Fabric, Switch
from output import formats, picture, tables
from output.told import Told
from yamlfile.values import FileError

from cli import arguments, inputs, kept
from cli.inputs import UsageError

if TYPE_CHECKING:
    from rest.connection import Clock

WORKED, WRONG, MISUSED = 0, 1, 2
ONLINE = {
    "plan": "what would change on each switch; writes nothing",
    "apply": "bring the switches to the intent, with confirmed commits",
    "verify": "compare the switches, and what they see, with the intent; writes nothing",
    "cables": "what is at the end of each port, by LLDP or the MAC table; writes nothing",
    "rollback": "show what the switches ran before their last change; with --plan, restore it",
    "drain": "take a leaf or spine out of use, unless a host would lose its last leg",
    "undrain": "return a drained switch",
    "decommission": "remove all that the intent has from a drained switch",
    "rotate-password": "give switches a new password, one after the other; with --plan, do it",
    "upgrade": "give switches another release: drained, one leaf of each rack at a time, the canary first",
}


def main(words: Sequence[str] | None = None, clock: "Clock" = time) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(words, argparse.Namespace(clock=clock))
    try:
        options.text = inputs.intent(options.intent)
        file = "standard input" if options.intent == "-" else options.intent
        fabric = expand.read(options.text, file)
        if getattr(options, "parallel", 1) < 1:
            raise UsageError(f"--parallel: {options.parallel} is not allowed; give 1 or more")
        return WORKED if _VERBS[options.verb](options, fabric) else WRONG
    except (FileError, UsageError, formats.FormatError, numbers.NumbersError) as error:
        print(error, file=sys.stderr)
        return MISUSED
    except BrokenPipeError:
        sys.stderr.close()
        return WORKED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tox -e fabric --", description="An EVPN fabric from one intent.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    common = argparse.ArgumentParser(add_help=False)
    words = f"the intent, YAML; - reads standard input ({places.INTENT})"
    common.add_argument("--intent", default=places.INTENT, metavar="FILE", help=words)
    one = argparse.ArgumentParser(add_help=False)
    one.add_argument(
        "--switch", action="append", default=[], metavar="NAME", help="only this switch; repeatable"
    )

    render = verbs.add_parser("render", parents=[common, one], help="each switch's configuration")
    render.add_argument("--format", choices=formats.FORMATS, default="nv", help="default: nv set commands")
    dialects = [dialect.value for dialect in Dialect if dialect is dialect.declared]
    render.add_argument(
        "--dialect", choices=dialects, help="for switches whose dialect the intent leaves to auto"
    )

    checks = verbs.add_parser("audit", parents=[common], help="what is wrong with the intent")
    checks.add_argument("--format", choices=("table", "json"), default="table")
    arguments.all_rows(checks)

    picture_ = verbs.add_parser("show", parents=[common], help="the fabric as text, or as a picture")
    picture_.add_argument("--format", choices=("text", "svg"), default="text")

    words = "the intent with a fixed number for each rack and host, instead of its place in a list"
    fix = verbs.add_parser("fix-numbers", parents=[common], help=words)
    fix.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="LEAF:PORT=NUMBER,…",
        help="numbers that ports of this leaf's rack keep; rewrites only named racks; repeatable",
    )
    fix.add_argument(
        "--racks", default="", metavar="NUMBERS", help="of the racks in their order, such as 1,0; only these"
    )

    words = "the certificates of the switches, for --pins"
    arguments.arguments(verbs.add_parser("pins", parents=[common, one], help=words), "pins")
    words = "give the switches that have the factory's password a new one, typed at the terminal"
    arguments.arguments(
        verbs.add_parser("first-password", parents=[common, one], help=words), "first-password"
    )
    for verb, words in (*kept.VERBS.items(), *ONLINE.items()):
        arguments.arguments(verbs.add_parser(verb, parents=[common, one], help=words), verb)
    return parser


def _render(options: argparse.Namespace, fabric: Fabric) -> bool:
    chosen = arguments.chosen(fabric, options.switch)
    written = {switch.name: _written(options, fabric, switch) for switch in chosen}
    print(formats.together(written, options.format, indent=2), end="")
    return True


def _written(options: argparse.Namespace, fabric: Fabric, switch: Switch) -> str:
    dialect = switch.dialect
    if dialect is None:
        if options.dialect is None and switch.platform == "cumulus" and options.format != formats.ZTP:
            note = f"{switch.name}: the intent does not set its dialect; written for releases up to 5.14"
            print(note, file=sys.stderr)
        dialect = Dialect(options.dialect or Dialect.UNTIL_5_14.value)
    relays = any(vrf.relay for vrf in switch.routing.vrfs) and options.format != formats.ZTP
    if relays and not dialect.groups_relays:
        print(f"{switch.name}: its DHCP relay is written for releases up to 5.13", file=sys.stderr)
    return formats.write(fabric, switch, dialect, options.format)


def _audit(options: argparse.Namespace, fabric: Fabric) -> bool:
    found = audit(fabric)
    if options.format == "json":
        print(json.dumps(findings_as_json(found), indent=2))
    elif found:
        rows = [(each.severity.name.lower(), each.subject, each.what, each.remedy) for each in found]
        print(cut_table(("severity", "path", "finding", "remedy"), rows, arguments.most(options), "findings"))
    else:
        print("No finding: the intent can be applied.")
    return all(each.severity < Severity.BLOCKED for each in found)


def _show(options: argparse.Namespace, fabric: Fabric) -> bool:
    print((picture.as_svg if options.format == "svg" else tables.as_text)(Told(fabric)), end="")
    return True


def _fix_numbers(options: argparse.Namespace, fabric: Fabric) -> bool:
    keep = dict(inputs.kept(given) for given in options.keep)
    print(numbers.fixed(options.text, fabric, keep, inputs.rack_numbers(options.racks)), end="")
    return True


def _with_switches(options: argparse.Namespace, fabric: Fabric) -> bool:
    from cli import (  # HTTP and TLS take longer to load than all that the other verbs need
        rotating,
        switches,
        upgrading,
    )

    special = {
        "pins": switches.show_pins,
        "first-password": switches.first_password,
        "rotate-password": rotating.rotate_password,
        "upgrade": upgrading.upgrade,
    }
    return special.get(options.verb, switches.run)(options, fabric)


_VERBS: dict[str, Callable[[argparse.Namespace, Fabric], bool]] = {
    "render": _render,
    "audit": _audit,
    "show": _show,
    "fix-numbers": _fix_numbers,
    "list-backups": kept.listed,
    "compare-backups": kept.compare,
    **dict.fromkeys(("pins", "first-password", *ONLINE), _with_switches),
}
"""The function of each verb, which returns whether it went well."""


if __name__ == "__main__":
    sys.exit(main())
