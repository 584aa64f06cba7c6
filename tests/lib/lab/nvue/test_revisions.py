# SPDX-License-Identifier: Apache-2.0
"""Revisions are created, changed, applied and saved as NVUE does it, over the simulator's own HTTPS."""

import pytest
from lab.nvue import Certificate, Issue, Server, SimulatedTime, Switch, Tree, merge
from lab.nvue.caller import APPLY, PACE, YES, Caller, commit
from lab.nvue.fabric import Fabric
from lab.nvue.trees import folded


def saved(call: Caller) -> Tree:
    return call("GET", "/?rev=startup&filled=false")[1]


def test_a_revision_is_created_patched_applied_and_saved(call: Caller, time: SimulatedTime) -> None:
    before = call.applied()
    name = call.create()
    assert "%2F" in name
    assert call("PATCH", f"/?rev={name}", {"interface": {"swp1": {"type": "swp"}}})[0] == 200
    assert call.applied() == before
    assert call("GET", f"/?rev={name}&diff=applied&filled=false")[1] == {
        "interface": {"swp1": {"type": "swp"}}
    }
    assert call("PATCH", f"/revision/{name}", APPLY)[1]["state"] == "apply"
    time.sleep(PACE)
    assert call("GET", f"/revision/{name}")[1]["state"] == "checking"
    time.sleep(PACE)
    assert call("GET", f"/revision/{name}")[1]["state"] == "ays"
    assert call.applied() == before
    time.sleep(PACE)
    assert call("GET", f"/revision/{name}")[1]["state"] == "apply"
    assert call.applied() == before
    time.sleep(PACE)
    assert call("GET", f"/revision/{name}")[1]["state"] == "applied_and_saved"
    assert call.applied() == merge(before, {"interface": {"swp1": {"type": "swp"}}})
    assert saved(call) == call.applied()


def test_null_unsets_and_empty_containers_go_with_it(call: Caller) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"interface": {"swp1": {"type": "swp", "link": {"mtu": 9000}}}})
    call("PATCH", f"/?rev={name}", {"interface": {"swp1": {"link": {"mtu": None}}}})
    assert call("GET", f"/interface/swp1?rev={name}&filled=false")[1] == {"type": "swp"}
    call("PATCH", f"/?rev={name}", {"interface": {"swp1": None}})
    assert call("GET", f"/interface/swp1?rev={name}&filled=false")[0] == 404


def test_replace_clears_the_revision_first(call: Caller) -> None:
    name = call.create()
    assert call("DELETE", f"/?rev={name}", {})[0] == 200
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "other"}})
    assert call("GET", f"/?rev={name}&filled=false")[1] == {"system": {"hostname": "other"}}


@pytest.mark.parametrize(("release", "answer"), [("5.9.2", (200, {})), ("5.10.0", (204, None))])
def test_a_delete_is_answered_as_the_release_does_it(
    certificate: Certificate, release: str, answer: tuple[int, Tree | None]
) -> None:
    """The connection goes on after an answer without content."""
    with Server(Switch(release=release), certificate) as server:
        call = Caller(server, certificate)
        name = call.create()
        call("PATCH", f"/?rev={name}", {"interface": {"swp1": {"type": "swp"}}})
        assert call("DELETE", f"/interface/swp1?rev={name}", {}) == answer
        assert call("DELETE", f"/revision/{name}", {}) == answer
        assert call("GET", f"/revision/{name}")[0] == 404


def test_a_read_fills_in_defaults_unless_told_otherwise(call: Caller) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"interface": {"swp1": {"type": "swp"}}})
    assert call("GET", f"/interface/swp1?rev={name}")[1] == {"type": "swp", "link": {"mtu": 9216}}


@pytest.mark.parametrize(
    ("release", "strict", "query", "status", "shown"),
    [
        ("5.15.0", False, "&expand=true", 200, ["eth0", "swp1", "swp2"]),
        ("5.15.0", True, "", 200, ["eth0", "swp1-2"]),
        ("5.9.2", False, "&expand=true", 200, ["eth0", "swp1-2"]),
        ("5.9.2", True, "&expand=true", 400, []),
    ],
)
def test_what_is_alike_is_folded_unless_a_release_that_can_is_told_to_expand(
    certificate: Certificate, release: str, strict: bool, query: str, status: int, shown: list[str]
) -> None:
    with Server(Switch(release=release), certificate) as server:
        server.strict = strict
        call = Caller(server, certificate)
        name = call.create()
        call("PATCH", f"/?rev={name}", {"interface": {"swp2": {"type": "swp"}, "swp1": {"type": "swp"}}})
        got, answer = call("GET", f"/interface?rev={name}&filled=false{query}")
        assert (got, sorted(answer) if got == 200 else []) == (status, shown)
        if got == 200:
            changed = call("GET", f"/?rev={name}&diff=applied&filled=false{query}")[1]
            assert sorted(changed["interface"]) == shown[1:]


def test_what_instances_share_is_folded_and_the_rest_stands_beside_it() -> None:
    ports = {f"swp{n}": {"type": "swp"} for n in (9, 10, 12, 7)}
    bonds: Tree = {name: {"type": "bond", "link": {"mtu": 9000}} for name in ("bond1", "bond2", "bond_ext")}
    bonds["bond2"]["description"] = "second"
    vlans = {"vlan": {"10": {}, "20": {}, "21": {}}}
    assert folded({"interface": {"lo": {}, **ports, **bonds}, "server": vlans}) == {
        "interface": {
            "lo": {},
            "swp7,swp9-10,swp12": {"type": "swp"},
            "bond_ext,bond1-2": {"type": "bond", "link": {"mtu": 9000}},
            "bond2": {"description": "second"},
        },
        "server": {"vlan": {"10,20-21": {}}},
    }


def test_an_unencoded_slash_names_no_revision(call: Caller) -> None:
    name = call.create().replace("%2F", "/")
    assert call("GET", f"/revision/{name}")[0] == 404


@pytest.mark.parametrize(
    ("code", "answers", "state"),
    [
        ("config_invalid", YES, "apply_fail"), ("systemctl", YES, "ignore_fail"),
        ("systemctl", {**YES, "ignore_fail": "ignore_fail_no"}, "apply_fail"),
    ],
)  # fmt: skip
def test_a_backend_that_fails_leaves_the_switch_as_it_was(
    certificate: Certificate, code: str, answers: Tree, state: str
) -> None:
    """Where a service does not reload, it asks whether to ignore that."""
    fabric = Fabric(refuse={"leaf0-1": Issue(code, "frr.service failed")})
    switch = Switch("leaf0-1", backend=fabric.member("leaf0-1"), pace=PACE, clock=SimulatedTime())
    with Server(switch, certificate) as server:
        call = Caller(server, certificate)
        before, name = call.applied(), call.create()
        call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
        call("PATCH", f"/revision/{name}", {"state": "apply", "auto-prompt": answers})
        shown = call.settle(name)
        assert (shown["state"], shown["transition"]["issue"]["00000"]["code"]) == (state, code)
        assert call.applied() == before


@pytest.mark.parametrize("waits", ["confirm", "ays"])
@pytest.mark.parametrize("issue", [None, Issue("config_invalid", "frr.service failed")])
def test_an_apply_takes_its_time_whether_it_works_or_fails(
    certificate: Certificate, issue: Issue | None, waits: str
) -> None:
    clock, fabric = SimulatedTime(), Fabric(refuse={"leaf0-1": issue} if issue else {})
    backend = fabric.member("leaf0-1")
    switch = Switch("leaf0-1", backend=backend, clock=clock, waits=waits, takes=20)
    with Server(switch, certificate) as server:
        call = Caller(server, certificate)
        before, name = call.applied(), call.create()
        call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
        call("PATCH", f"/revision/{name}", commit(300))
        clock.sleep(19)
        assert (call("GET", f"/revision/{name}")[1]["state"], call.applied()) == ("apply", before)
        clock.sleep(1)
        state = call("GET", f"/revision/{name}")[1]["state"]
        assert (state, call.applied() == before) == (("apply_fail", True) if issue else (waits, False))
