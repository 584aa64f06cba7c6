# SPDX-License-Identifier: Apache-2.0
"""`python -m recorded.juju`: give all recorded bundles to Juju's own parser, and compare what it says.

The parser is a program, parser/main.go with the Go module github.com/juju/charm. It is given the metadata of
the checker's table, so that both judge by the same.

Exit status: 0 all is as recorded, 1 something differs. With --record, what differs is kept.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from check import facts
from check.facts import ROLES, Facts

from recorded import parser
from recorded.juju import SAID, cases, write

SECONDS = 60.0
"""How long the parser may take for all bundles."""

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# What juju/charm {version} said of the {count} bundles in bundles.yaml on {date} (python -m recorded.juju
# --record). A bundle without a verdict was taken. FOLDER stands for the bundle's.
"""


def main(arguments: list[str]) -> int:
    """Ask, compare, and keep what differs."""
    options = _parser().parse_args(arguments)
    version, found = _said(options.parser)
    before = yaml.safe_load(SAID.read_text()) if SAID.exists() else {}
    differs = [name for name in {*before, *found} if before.get(name) != found.get(name)]
    for name in sorted(differs):
        print(f"{name}: {found.get(name, 'taken')}; recorded: {before.get(name, 'taken')}")
    print(f"juju/charm {version}: {len(differs)} verdicts differ")
    if options.record:
        head = HEAD.format(version=version, count=len([*cases()]), date=datetime.date.today())
        SAID.write_text(head + yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=118))
    return 1 if differs and not options.record else 0


def _parser() -> argparse.ArgumentParser:
    made = parser("juju", __doc__)
    made.add_argument(
        "--parser", required=True, metavar="FILE", help="the program that is made of parser/main.go"
    )
    return made


def _said(program: str) -> tuple[str, dict[str, Any]]:
    """The parser's version, and its verdicts by the name of the bundle, without those that it takes."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        files = {
            case.name: [str(path) for path in write(case, folder / "bundles" / str(number))]
            for number, case in enumerate(cases())
        }
        _write_charms(folder / "charms")
        done = subprocess.run(
            [program, str(folder / "charms")],
            input=json.dumps(files),
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        answer = json.loads(done.stdout)
        said = {name: _without(folder / "bundles", answer["verdicts"][name]) for name in files}
    return answer["version"], {name: verdict for name, verdict in said.items() if verdict}


def _without(folder: Path, verdict: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """A verdict without the folder's name, which differs at each call."""
    made = re.compile(rf"{re.escape(str(folder))}/\d+")
    texts = {key: [made.sub("FOLDER", text) for text in said] for key, said in verdict.items()}
    return {key: texts[key] for key in ("refused", "ignored", "with-charms") if key in texts}


def _write_charms(folder: Path) -> None:
    """The charms of the checker's table, and this project's, as Juju reads them."""
    for known in (*facts.upstream().values(), *facts.own().values()):
        charm = folder / known.charm
        charm.mkdir(parents=True, exist_ok=True)
        (charm / "metadata.yaml").write_text(yaml.safe_dump(_metadata(known)))
        options = {name: {"type": kind, "description": name} for name, kind in known.options.items()}
        (charm / "config.yaml").write_text(yaml.safe_dump({"options": options}))


def _metadata(known: Facts) -> dict[str, Any]:
    endpoints = {
        role: {
            name: {"interface": endpoint.interface, "scope": endpoint.scope}
            for name, endpoint in known.endpoints.items()
            if endpoint.role == role
        }
        for role in ROLES
    }
    return {
        "name": known.charm,
        "summary": known.charm,
        "description": known.charm,
        "subordinate": known.subordinate,
        "extra-bindings": dict.fromkeys(known.extra_bindings),
        **endpoints,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
