# SPDX-License-Identifier: Apache-2.0
"""Sends a recorded request to a region, real or simulated, and compares the answer with the recorded one."""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from recorded.maas import Pair

NAMED = re.compile(r"\{([^{}]+)\}")
"""The text that stands for the id of an object."""
LISTS = ("fabrics", "subnets", "machines", "rackcontrollers")
"""The lists that a region must give for its ids to be known."""
SECONDS = 60
Open = Callable[[urllib.request.Request], Any]


class Answer(NamedTuple):
    """Of one request."""

    status: int
    type: str
    text: str


def ask(send: Open, address: str, key: str, request: str, data: Mapping[str, str]) -> Answer:
    """Sign a request such as `POST spaces/`, and send it to the region at an address that ends with /MAAS."""
    consumer, token, secret = key.strip().split(":")
    oauth = f'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="{consumer}"'
    oauth += f', oauth_token="{token}", oauth_signature="%26{secret}", oauth_nonce="{time.monotonic_ns()}"'
    method, path = request.split(" ", 1)
    sent = urllib.parse.urlencode(data).encode() if data else None
    url = f"{address.rstrip('/')}/api/2.0/{path}"
    head = {"Authorization": f'{oauth}, oauth_timestamp="{int(time.time())}"'}
    try:
        answer = send(urllib.request.Request(url, sent, head, method=method))  # noqa: S310 - given by hand
    except urllib.error.HTTPError as refused:
        answer = refused
    return Answer(answer.code, answer.headers.get_content_type(), answer.read().decode())


def ids(lists: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The ids of the example site's objects, by the words that stand for them in requests and answers."""
    vlans = [vlan for fabric in lists["fabrics"] for vlan in fabric["vlans"]]
    found = {f"VLAN {each['vid']}": each["id"] for each in vlans}
    found |= {f"subnet {each['cidr']}": each["id"] for each in lists["subnets"]}
    found |= {each["hostname"]: each["system_id"] for each in lists["machines"]}
    for each in lists["machines"]:
        found |= {f"{each['hostname']}/{port['name']}": port["id"] for port in each["interface_set"]}
    return found | {"fabric": lists["fabrics"][0]["id"], "rack": lists["rackcontrollers"][0]["system_id"]}


def named(text: object, known: Mapping[str, Any]) -> str:
    """A text with ids in place of the words for them; what no id is known of stays."""
    return NAMED.sub(lambda found: str(known.get(found[1], found[0])), str(text))


def words(text: str) -> str:
    """A page as what it says."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def differences(pair: Pair, answer: Answer, known: Mapping[str, Any]) -> Iterator[str]:
    """Where an answer is not what was recorded; an object that is returned is not compared."""
    for key, usual in (("status", 200), ("type", "application/json")):
        if getattr(answer, key) != pair.get(key, usual):
            yield f"{key} {getattr(answer, key)}, recorded {pair.get(key, usual)}"
            return
    said = pair.get("said", "object")
    if answer.status == 200:
        if not isinstance(json.loads(answer.text), dict):
            yield "no object is returned"
    elif isinstance(said, str):
        if words(answer.text) != " ".join(said.split()):
            yield f"it says {words(answer.text)!r}, recorded {said!r}"
    else:
        wanted = {field: [named(each, known) for each in sentences] for field, sentences in said.items()}
        found = json.loads(answer.text)
        for field in sorted(wanted | found):
            has, had = found.get(field, []), wanted.get(field, [])
            if not _alike(has, had):
                yield f"{field}: it says {has}, recorded {had}"


def _alike(said: list[str], wanted: list[str]) -> bool:
    """Whether all sentences are the same; a recorded one may end with an ellipsis."""
    return len(said) == len(wanted) and all(
        one.startswith(other[:-1]) if other.endswith("…") else one == other
        for one, other in zip(said, wanted)
    )


def answered(pair: Pair, answer: Answer) -> Pair:
    """The request with this answer in place of the recorded one."""
    asked = {key: pair[key] for key in ("call", "request", "data") if key in pair}
    if answer.status == 200:
        return asked
    kind = {} if answer.type == "application/json" else {"type": answer.type}
    said = json.loads(answer.text) if not kind else words(answer.text)
    return {**asked, "status": answer.status, **kind, "said": said}
