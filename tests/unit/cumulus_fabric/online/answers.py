# SPDX-License-Identifier: Apache-2.0
"""Switches whose answers were recorded, of which one answers something else, and all that uses answers."""

import http.client
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import figures
from attachments.attached import isolated
from converge import render
from fuzz import NIGHTLY
from lab.nvue import merge
from online import Site
from rest.client import Nvue
from rest.connection import Access, Credentials
from rest.fleet import Fleet
from survey import Survey
from tree import record
from tree.expected import Expected
from tree.taken import ALL
from unit.cumulus_fabric.online.site import rack, taking_over
from unit.cumulus_fabric.online.small import CHANGED, SMALL
from verify import verify

ODD = "Leaf0-1"
"""The switch that answers something else."""

Target = tuple[str, str]
"""Method and path of a request."""


class Recorded:
    """A connection to a switch that answers each request as it did before, if it did."""

    def __init__(self, answers: Mapping[Target, tuple[int, bytes]]) -> None:
        self._answers = answers
        self.status, self._content = 200, b""

    def request(self, method: str, url: str, *_: object) -> None:
        self.status, self._content = self._answers.get((method, url), (404, b"{}"))

    def getresponse(self) -> "Recorded":
        return self

    def read(self) -> bytes:
        return self._content

    def close(self) -> None:
        """Nothing is open."""


class Answers:
    """The answers of a changed fabric's switches to all requests that only read."""

    def __init__(self) -> None:
        self.said: dict[str, dict[Target, tuple[int, bytes]]] = {}
        with rack(SMALL, applied=True) as made:
            box = made.servers[ODD].switch
            running = box.revisions[box.applied_id]
            running.tree = merge(running.tree, BESIDE)
            made.site = taking_over(CHANGED, made)
            assert made.site.apply().applied
            made.site = taking_over(SMALL, made)
            for name, server in made.servers.items():
                self._record(name, server)
            self.ownership = made.site.ownership
            use(made.site, made.site.survey(state=True))
        self.own = {target: said for target, said in self.said[ODD].items() if target[0] == "GET"}

    def _record(self, name: str, server: Any) -> None:
        serve, said = server.serve, self.said.setdefault(name, {})

        def serves(method: str, target: str, authorization: str, raw: bytes) -> Any:
            reply = serve(method, target, authorization, raw)
            said[method, target] = (reply.status, reply.content)
            return reply

        server.serve = serves

    def site(self, target: Target, content: bytes) -> Site:
        """The same switches, one of which answers this to that request."""
        odd = {**self.said, ODD: {**self.said[ODD], target: (http.client.OK, content)}}
        access = Access(Credentials("u", "p"), pauses=())
        clients = {
            name: Nvue(name, "192.0.2.1", access, connect=lambda name, *_: Recorded(odd[name]))
            for name in odd
        }
        return Site(SMALL, Fleet(clients, limit=1), ownership=self.ownership)


def use(site: Site, survey: Survey) -> None:
    """Give what was read to all that uses it, and writes nothing."""
    fabric, seen = site.fabric, survey.observed.switches
    findings = [*site.findings(survey), *survey.plan.findings]
    assert all(each.sentence() for each in findings)
    render.plan_as_table(survey.plan)
    record.read(record.written(record.Record(survey.last)))
    list(figures.switches(fabric, survey, findings, None))
    states = {name: each.state for name, each in seen.items()}
    verify(fabric, survey.patches, survey.observed, Expected(states))
    attached = site.attached(survey.observed)
    list(attached.cut())
    for switch in fabric.switches:
        attached.lost({switch.name: ALL})
        list(attached.used(switch.name))
        if switch.name in seen:
            list(isolated(switch, seen[switch.name]))
        list(attached.missing(switch))
    _, back = site.restoration()
    render.plan_as_table(back.plan)


VALUES: tuple[Any, ...] = (None, [], "x", {"a": []}, 7, [{}], {}, True, "²", {"x": {"y": 1}}, -1, "")
EACH = len(VALUES) if NIGHTLY else 1
"""Values for each place of an answer: by day a part of them, in turn."""

BESIDE: dict[str, Any] = {
    "interface": {
        "bond7": {
            "type": "bond",
            "bond": {"member": {"swp20": {}}},
            "bridge": {"domain": {"br_default": {}}},
        },
        "vlan77": {"type": "svi", "vlan": 77, "base-interface": "br_default", "ip": {"vrf": "blue"}},
        "swp21.7": {"type": "sub", "base-interface": "swp21", "vlan": 7},
    },
    "bridge": {"domain": {"br_default": {"vlan": {"77": {"vni": {"auto": {}}}}, "vlan-vni-offset": 10}}},
    "vrf": {"blue": {"evpn": {"vlan": 78, "vni": {"4001": {}}}}},
    "router": {"policy": {"route-map": {"theirs": {"rule": {"10": {"action": {"permit": {}}}}}}}},
}
"""Others' configuration on a switch."""


def odd(content: Any) -> Iterator[tuple[str, Any]]:
    """Each of these answers with one value of another type, once for places that are alike."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for path in _paths(content):
        known.setdefault(tuple(re.sub(r"\d+", "N", key) for key in path), path)
    for number, path in enumerate(known.values()):
        for at in range(EACH):
            value = VALUES[(number * EACH + at) % len(VALUES)]
            changed = {"": deepcopy(content)}
            holder, key = changed, ""
            for below in path:
                holder, key = holder[key], below
            holder[key] = value
            yield f"{'/'.join(path)}: {value!r}", changed[""]


def _paths(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for key, below in node.items() if isinstance(node, dict) else ():
        yield from _paths(below, (*path, key))
