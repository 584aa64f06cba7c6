# SPDX-License-Identifier: Apache-2.0
"""`python -m recorded.maas`: send all recorded requests to a real MAAS region, and compare what it answers.

The region is one for this purpose alone: the example site (tools/maas/site-example.yaml) is applied to it
with `vlan: untagged`, and its machines are commissioned. Requests that it takes change it, so each of them is
followed by the command of --reset, which puts the region's database back.

Exit status: 0 all is as recorded, 1 something differs. With --record, what differs is kept.
"""

import argparse
import datetime
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from recorded import parser
from recorded.maas import LISTS, REFUSALS, Pair, pairs
from recorded.maas.region import LISTS as NEEDED
from recorded.maas.region import SECONDS, Answer, answered, ask, differences, ids, named

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# What MAAS {version} answered to {count} requests on {date} (python -m recorded.maas --record). `{{…}}` is
# the id of an object of the example site; a request without `said` was taken.
"""


def main(arguments: list[str]) -> int:
    """Ask, compare, and keep what differs."""
    options = _parser().parse_args(arguments)
    send = partial(urllib.request.build_opener().open, timeout=SECONDS)
    region = Region(send, options.maas, options.key.read_text(), options.reset)
    found, told = list[Pair](), 0
    for pair, answer, said in region.compared(pairs()):
        told += bool(said)
        found.append(answered(pair, answer) if said else pair)
        for sentence in said:
            print(f"{pair['call']}: {sentence}")
    version = region.version()
    print(f"MAAS {version}: {told} of {len(found)} answers differ")
    if options.record:
        head = HEAD.format(version=version, count=len(found), date=datetime.date.today())
        text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=120)
        REFUSALS.write_text(head + text)
        LISTS.write_text(json.dumps(region.lists(json.loads(LISTS.read_text())), indent=1) + "\n")
    return 1 if told and not options.record else 0


def _parser() -> argparse.ArgumentParser:
    made = parser("maas", __doc__)
    made.add_argument("--maas", required=True, metavar="URL", help="of the region, ending with /MAAS")
    made.add_argument("--key", required=True, type=Path, metavar="FILE", help="with an API key")
    made.add_argument("--reset", required=True, metavar="COMMAND", help="puts the region's database back")
    return made


class Region:
    """A region that may be changed."""

    def __init__(self, send: Any, address: str, key: str, reset: str) -> None:
        self._ask = partial(ask, send, address, key)
        self._reset = reset

    def version(self) -> str:
        """As the region tells it."""
        return self._get("version/")["version"]

    def compared(self, asked: list[Pair]) -> Iterator[tuple[Pair, Answer, list[str]]]:
        """Each request with its answer, and where that is not as recorded.

        Raises:
            subprocess.CalledProcessError: the region could not be put back.

        """
        known = ids({kind: self._list(kind) for kind in NEEDED})
        for pair in asked:
            data = {field: named(value, known) for field, value in pair.get("data", {}).items()}
            answer = self._ask(named(pair["request"], known), data)
            yield pair, answer, [*differences(pair, answer, known)]
            if answer.status == 200 and not pair["request"].startswith("GET "):
                subprocess.run(["sh", "-c", self._reset], check=True)
                known = ids({kind: self._list(kind) for kind in NEEDED})

    def lists(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return the region's lists of now for all kinds that were recorded, of the same machines."""
        machines = {each["hostname"]: each["system_id"] for each in self._list("machines")}
        kept = {each["hostname"] for each in before["machines"]}
        found: dict[str, Any] = {}
        for kind in before:
            if kind == "machines":
                found[kind] = [each for each in self._list(kind) if each["hostname"] in kept]
            elif kind == "config":
                found[kind] = {name: self._get(f"maas/?op=get_config&name={name}") for name in before[kind]}
            elif kind == "power_parameters":
                told = self._get("machines/?op=power_parameters")
                found[kind] = {
                    number: {**each, **({"power_pass": "PASSWORD"} if "power_pass" in each else {})}
                    for number, each in told.items()
                }
            elif kind == "boot-resources/1":
                found[kind] = self._get(f"boot-resources/{self._list('boot-resources')[0]['id']}/")
            elif kind == "nodes/node1/devices":
                found[kind] = self._get(f"nodes/{machines['node1']}/devices/")
            else:
                found[kind] = self._list(kind)
        return found

    def _list(self, kind: str) -> Any:
        return self._get(f"{kind}/")

    def _get(self, path: str) -> Any:
        return json.loads(self._ask(f"GET {path}", {}).text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
