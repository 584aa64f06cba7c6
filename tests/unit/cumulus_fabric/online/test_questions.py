# SPDX-License-Identifier: Apache-2.0
"""NVUE's questions before it applies a change are read: nobody's edits are overwritten unasked."""

from collections.abc import Iterator
from copy import deepcopy

import pytest
from apply import ApplyPolicy
from converge import Severity
from lab.nvue import Fault
from lab.nvue.rules import Issue
from online import Site
from output.report import BROKEN, Report, Result
from rest.warned import KEEP, overwritten, told
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import CANARY, CHANGED, LAST, RELEASES, SMALL

POLICY = ApplyPolicy(confirm=120, settle=30.0, deadline=60.0, poll=1.0)
THEIRS = ["/etc/frr/frr.conf", "/etc/network/interfaces"]
SAID = f"NVUE would overwrite {', '.join(THEIRS)}, which somebody changed on the switch"
RESTART = (
    "NVUE said: The frr service will need to be restarted because the list of router services has changed. "
    "This will disrupt traffic for any existing routing protocols."
)


@pytest.fixture(params=["confirm", "ays"])
def waits(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def three(waits: str, release: str) -> Iterator[Rack]:
    with rack(SMALL, applied=True, waits=waits, release=release, fleet=InTurn) as made:
        yield made


def change(three: Rack) -> Report:
    return Site(CHANGED, three.site.fleet).apply(canary=CANARY, policy=POLICY)


def broken(report: Report) -> list[tuple[str, str, str]]:
    return [(each.subject, each.what, each.remedy) for each in report.reasons if each.severity in BROKEN]


@pytest.mark.parametrize("name", [CANARY, LAST])
def test_files_that_somebody_edited_are_not_overwritten(three: Rack, name: str) -> None:
    before = deepcopy(three.applied)
    box = three.servers[name].switch
    box.edited = list(THEIRS)
    known = set(box.revisions)
    report = change(three)
    assert broken(report) == [(name, SAID, KEEP)]
    assert report.results[name] is Result.UNCHANGED
    assert box.edited == THEIRS
    assert three.applied == before
    assert set(box.revisions) == known  # what was declined is dropped
    if name == CANARY:
        assert report.verdict == "fully rolled back: this run has changed no switch"
        assert "apply" not in three.calls(LAST)
    box.edited = []  # settled on the switch
    assert change(three).applied


@pytest.mark.parametrize("kind", ["reset", "reset-after", "500", "500-after", "hang"])
def test_a_lost_no_is_no_yes(three: Rack, kind: str) -> None:
    """The question is then not answered, or its answer not known to have arrived."""
    before = deepcopy(three.applied)
    box = three.servers[CANARY].switch
    box.edited = list(THEIRS)
    three.servers[CANARY].inject(Fault(kind, call="decline"))
    report = change(three)
    assert broken(report)[0][1:] == (SAID, KEEP)
    assert box.edited == THEIRS
    assert three.applied == before


def test_the_first_push_goes_on_where_no_link_is_up(waits: str, release: str) -> None:
    """NVUE asks this of every switch from the factory; its files are those of the image."""
    with rack(SMALL, waits=waits, release=release, fleet=InTurn) as made:
        report = made.site.apply(policy=POLICY)
        assert report.verdict == "fully applied: 3 switches changed"
        (files, restart) = report.reasons
        assert files.severity is restart.severity is Severity.INFO
        assert files.subject == restart.subject == "Leaf0-1, Leaf0-2, Spine0"
        assert "WILL be overwritten. - /etc/nsswitch.conf" in files.what
        assert restart.what == RESTART


def test_the_first_push_asks_where_links_are_up(release: str) -> None:
    """Such a switch may be run by the files that NVUE would overwrite."""
    with rack(SMALL, release=release, fleet=InTurn) as made:
        box = made.servers[CANARY].switch
        operational = box.operational
        odd = {"swp1": None, "swp2": {"type": ["swp"]}, "swp3": {"type": "swp", "link": "up"}}

        def links_up(path: tuple[str, ...]) -> dict[str, object]:
            shown = deepcopy(operational(path))
            if path[:1] != ("interface",):
                return shown
            shown["interface"] |= odd
            shown["interface"]["swp13"] = {
                "type": "swp",
                "link": {"state": {"up": {}}, "oper-status": "up"},
            }
            return shown

        box.operational = links_up  # type: ignore[method-assign]
        report = made.site.apply(canary=CANARY, policy=POLICY)
        assert broken(report)[0][0] == CANARY
        assert broken(report)[0][1].startswith("NVUE would overwrite /etc/nsswitch.conf, ")
        assert broken(report)[0][2] == KEEP
        assert box.edited


def test_what_else_it_warns_of_is_told_and_done(three: Rack) -> None:
    box = three.servers[LAST].switch
    box._warnings = lambda tree: [Issue("warning", "the  moon is\n full", severity="warning")]  # type: ignore[method-assign]
    report = change(three)
    assert report.verdict == "fully applied: 3 switches changed"
    assert [(each.severity, each.subject, each.what) for each in report.reasons] == [
        (Severity.INFO, LAST, "NVUE said: the moon is full")
    ]


def test_a_question_without_words_is_not_taken_for_a_wait(three: Rack) -> None:
    before = deepcopy(three.applied)
    box = three.servers[CANARY].switch
    box.edited = list(THEIRS)
    show = box.show

    def silent(name: str) -> dict[str, object]:
        shown = deepcopy(show(name))
        if shown["state"] == "ays":
            shown["transition"]["issue"] = {}
        return shown

    box.show = silent  # type: ignore[method-assign]
    report = change(three)
    assert broken(report)[0][:2] == (
        CANARY,
        "it asks something before it applies the change, and its answer does not show what",
    )
    assert "read the question, and answer no" in broken(report)[0][2]
    assert three.applied == before
    assert box.edited == THEIRS


def test_taking_back_asks_nothing(three: Rack) -> None:
    """A confirmed change goes back, although somebody has edited a file meanwhile."""
    before = deepcopy(three.applied)
    confirm = three.servers[CANARY].switch._finish

    def finish(name: str) -> None:
        confirm(name)
        three.servers[CANARY].switch.edited = list(THEIRS)

    three.servers[CANARY].switch._finish = finish  # type: ignore[method-assign]
    three.wires.refuse[LAST] = Issue("config_invalid", "no")
    report = change(three)
    assert report.verdict.startswith("fully rolled back")
    assert three.applied == before


def test_the_plan_says_where_frr_restarts(release: str) -> None:
    with rack(SMALL, release=release, fleet=InTurn) as made:
        says = {each.subject: each.what for each in made.site.plan(made.site.survey()).findings}
        assert (
            says["FRR"]
            == "restarts on Leaf0-1, Leaf0-2, Spine0, where BGP or BFD begins or ends, with all its sessions"
        )
        made.site.apply(policy=POLICY)
        later = Site(CHANGED, made.site.fleet)
        assert "FRR" not in {each.subject for each in later.plan(later.survey()).findings}


@pytest.mark.parametrize(
    ("issues", "files"),
    [
        (["current hostname `a` will be replaced with `b`"], []),
        (
            ["x, and they WILL be overwritten.\n\t- /etc/hosts\n\t- /etc/frr/frr.conf"],
            ["/etc/hosts", "/etc/frr/frr.conf"],
        ),
        (["x, and they WILL be overwritten. - /etc/hosts - /etc/a-b"], ["/etc/hosts", "/etc/a-b"]),
        (["they WILL be overwritten."], ["they WILL be overwritten."]),
    ],
)
def test_the_files_that_a_warning_names(issues: list[str], files: list[str]) -> None:
    assert overwritten(issues) == files


def test_what_several_switches_say_is_told_once() -> None:
    found = told({"b": ["x  y"], "a": ["x\ny", "current hostname `a` will be replaced with `b`"], "c": ["z"]})
    assert [(each.subject, each.what) for each in found] == [
        ("a, b", "NVUE said: x y"),
        ("c", "NVUE said: z"),
    ]
