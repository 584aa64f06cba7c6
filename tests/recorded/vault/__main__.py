# SPDX-License-Identifier: Apache-2.0
"""`python -m recorded.vault`: send all recorded requests to a real, new Vault, and compare what it answers.

The Vault is one for this purpose alone, such as the program that is made of server/main.go: it gets its keys
and is opened.

Exit status: 0 all is as recorded, 1 something differs. With --record, what differs is kept.
"""

import datetime
import http.client
import json
import sys

import yaml

from recorded import parser
from recorded.vault import ANSWERS, SECONDS, Life, calls, differences

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# What Vault {version} answered to {count} requests, one after the other, on {date} (python -m recorded.vault
# --record).
"""


def main(arguments: list[str]) -> int:
    """Ask, compare, and keep what differs."""
    made = parser("vault", __doc__)
    made.add_argument("--vault", required=True, metavar="ADDRESS:PORT", help="of a new Vault, by HTTP")
    options = made.parse_args(arguments)
    host, port = options.vault.rsplit(":", 1)
    version, recorded = _version(host, int(port)), calls()
    found = list(Life(host, int(port)).answers(recorded))
    told = 0
    for call, before in zip(found, recorded, strict=True):
        said = [*differences(call, before)]
        told += bool(said)
        for sentence in said:
            print(f"{call.call}: {sentence}")
    print(f"Vault {version}: {told} of {len(found)} answers differ")
    if options.record:
        head = HEAD.format(version=version, count=len(found), date=datetime.date.today())
        plain = [call.plain() for call in found]
        ANSWERS.write_text(head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120))
    return 1 if told and not options.record else 0


def _version(host: str, port: int) -> str:
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", "/v1/sys/health")
        return json.loads(connection.getresponse().read())["version"]
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
