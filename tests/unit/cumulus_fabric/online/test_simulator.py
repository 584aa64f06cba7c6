# SPDX-License-Identifier: Apache-2.0
"""The simulated switch does what NVUE does, refusals included; asked over its own HTTPS."""

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from nvue import Certificate, Fault, Issue, Rules, Server, SimulatedTime, Switch, Tree, diff, merge
from nvue.fabric import Fabric, HostPort
from nvue.faults import KINDS

YES = {"ays": "ays_yes"}
APPLY = {"state": "apply", "auto-prompt": YES}
PACE = 3.0


def commit(seconds: float) -> Tree:
    return {
        "state": "apply",
        "auto-prompt": {"confirm": "confirm_yes", **YES},
        "state-controls": {"confirm": seconds},
    }


class Caller:
    """The plainest client: what is sent and answered is what the test says."""

    def __init__(self, server: Server, certificate: Certificate, password: str = "CumulusLinux!") -> None:
        self.server = server
        self.context = ssl.create_default_context(cadata=certificate.pem)
        self.token = base64.b64encode(f"cumulus:{password}".encode()).decode()

    def __call__(self, method: str, path: str, body: Any = None, timeout: float = 5) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.server.port, context=self.context, timeout=timeout
        )
        try:
            headers = {"Authorization": f"Basic {self.token}", "Content-Type": "application/json"}
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/nvue_v1{path}", content, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def create(self) -> str:
        (name,) = self("POST", "/revision")[1]
        return name.replace("/", "%2F")

    def settle(self, name: str) -> Tree:
        """A revision once both steps of its apply are over."""
        self.server.switch.clock.sleep(2 * PACE)
        return self("GET", f"/revision/{name}")[1]

    def applied(self) -> Tree:
        return self("GET", "/?rev=applied&filled=false")[1]


@pytest.fixture
def time() -> SimulatedTime:
    return SimulatedTime()


@pytest.fixture
def switch(time: SimulatedTime) -> Switch:
    return Switch("leaf0-1", pace=PACE, clock=time)


@pytest.fixture
def server(switch: Switch, certificate: Certificate, other_certificate: Certificate) -> Iterator[Server]:
    with Server(switch, certificate, other=other_certificate) as server:
        yield server


@pytest.fixture
def call(server: Server, certificate: Certificate) -> Caller:
    return Caller(server, certificate)


def test_a_revision_is_created_patched_applied_and_saved(
    call: Caller, switch: Switch, time: SimulatedTime
) -> None:
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
    assert call.applied() == before
    time.sleep(PACE)
    assert call("GET", f"/revision/{name}")[1]["state"] == "applied_and_saved"
    assert call.applied() == merge(before, {"interface": {"swp1": {"type": "swp"}}})
    assert call("GET", "/?rev=startup&filled=false")[1] == call.applied()


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


def test_a_read_fills_in_defaults_unless_told_otherwise(call: Caller) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"interface": {"swp1": {"type": "swp"}}})
    assert call("GET", f"/interface/swp1?rev={name}")[1] == {"type": "swp", "link": {"mtu": 9216}}


def test_an_unchanged_revision_is_not_applied(call: Caller, switch: Switch) -> None:
    running, name = switch.applied_id, call.create()
    assert call("PATCH", f"/revision/{name}", APPLY)[1]["state"] == "pending"
    assert call("GET", f"/?rev={name}&diff=applied&filled=false") == (200, {})
    assert switch.applied_id == running


def test_an_unencoded_slash_names_no_revision(call: Caller) -> None:
    name = call.create().replace("%2F", "/")
    assert call("GET", f"/revision/{name}")[0] == 404


@pytest.mark.parametrize(("release", "slashed"), [("5.9.2", True), ("5.15.0", False)])
def test_ids_have_slashes_or_are_numbers(certificate: Certificate, release: str, slashed: bool) -> None:
    with Server(Switch(release=release), certificate) as server:
        assert ("%2F" in Caller(server, certificate).create()) is slashed


def test_a_commit_that_is_confirmed_stays(call: Caller, time: SimulatedTime) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    assert call.settle(name)["state"] == "ays"
    assert call.applied()["system"]["hostname"] == "new"
    assert call("PATCH", f"/revision/{name}", APPLY)[1]["state"] == "applied_and_saved"
    time.sleep(301)
    assert call.applied()["system"]["hostname"] == "new"


def test_a_commit_that_nobody_confirms_rolls_itself_back(
    call: Caller, switch: Switch, time: SimulatedTime
) -> None:
    before = call.applied()
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    assert call.settle(name)["state"] == "ays"
    time.sleep(299)
    assert call("GET", f"/revision/{name}")[1]["state"] == "ays"
    time.sleep(2)
    shown = call("GET", f"/revision/{name}")[1]
    assert (shown["state"], shown["transition"]["issue"]["00000"]["code"]) == ("apply_fail", "rollback")
    assert call.applied() == before
    assert switch.rolled_back == 1


def test_in_real_time_a_commit_goes_back_with_nobody_asking() -> None:
    """As in the twin, whose switches have the machine's clock."""
    switch = Switch("leaf0-1", pace=0.01)
    before = switch.applied
    (name,) = switch.create()
    switch.patch(name, ("system", "hostname"), "new")
    gone_back = threading.Event()
    apply = switch.backend.apply

    def seen(tree: Tree) -> Issue | None:
        if tree == before:
            gone_back.set()
        return apply(tree)

    switch.backend.apply = seen
    switch.request(name, commit(0.1))
    assert gone_back.wait(30)
    with switch.lock:
        assert (switch.applied, switch.rolled_back) == (before, 1)


def test_a_change_that_cuts_management_is_answered_again_after_its_rollback(
    call: Caller, time: SimulatedTime
) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"interface": {"eth0": {"link": {"state": {"down": {}}}}}})
    call("PATCH", f"/revision/{name}", commit(300))
    time.sleep(2 * PACE)
    with pytest.raises(TimeoutError):
        call("GET", f"/revision/{name}", timeout=0.3)
    time.sleep(301)
    assert call("GET", f"/revision/{name}")[1]["state"] == "apply_fail"


def test_an_earlier_revision_can_be_applied_again(call: Caller) -> None:
    before, first = call.applied(), call.create()
    call("PATCH", f"/?rev={first}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{first}", APPLY)
    call.settle(first)
    booted = next(iter(call("GET", "/revision")[1])).replace("/", "%2F")
    call("PATCH", f"/revision/{booted}", APPLY)
    call.settle(booted)
    assert call.applied() == before


def saved(call: Caller) -> Tree:
    return call("GET", "/?rev=startup&filled=false")[1]


def test_startup_is_what_was_confirmed_last(call: Caller, time: SimulatedTime) -> None:
    """From 5.9 on an apply saves by itself."""
    before, name = call.applied(), call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    call.settle(name)
    assert (call.applied() != before, saved(call)) == (True, before)
    call("PATCH", f"/revision/{name}", APPLY)
    assert saved(call) == call.applied() != before
    listed = call("GET", "/revision")[1]
    assert listed["startup"] == listed["applied"] == listed[name.replace("%2F", "/")]


def test_before_auto_save_startup_waits_for_a_save_and_can_be_applied(certificate: Certificate) -> None:
    with Server(Switch(release="5.8.0", pace=PACE, clock=SimulatedTime()), certificate) as server:
        call = Caller(server, certificate)
        factory, name = call.applied(), call.create()
        call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
        call("PATCH", f"/revision/{name}", APPLY)
        assert call.settle(name)["state"] == "applied"
        assert (call.applied() != factory, saved(call)) == (True, factory)
        call("PATCH", "/revision/startup", APPLY)
        call.settle("startup")
        assert call.applied() == factory
        call("PATCH", f"/revision/{name}", APPLY)
        call.settle(name)
        call("PATCH", "/revision/applied", {"state": "save", "auto-prompt": YES})
        assert saved(call) == call.applied() != factory


def test_one_apply_at_a_time(call: Caller) -> None:
    first, second = call.create(), call.create()
    for name in (first, second):
        call("PATCH", f"/?rev={name}", {"system": {"hostname": f"h{name[-1]}"}})
    call("PATCH", f"/revision/{first}", commit(300))
    call.settle(first)
    status, answer = call("PATCH", f"/revision/{second}", APPLY)
    assert (status, answer["title"]) == (409, "Conflict")


def test_without_the_answer_to_are_you_sure_nothing_is_applied(call: Caller, switch: Switch) -> None:
    running, name = switch.applied_id, call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    assert call("PATCH", f"/revision/{name}", {"state": "apply"})[1]["state"] == "ays_fail"
    assert switch.applied_id == running


WRONG = [
    ({"interface": {"bond1": {"bond": {"lacp-bypass": True}}}}, "True is not of type 'string'"),
    ({"interface": {"bond1": {"bond": {"lacp-bypass": "enabled"}}}}, "'enabled' is not one of"),
    ({"interface": {"bond1": {"link": {"mtu": "9000"}}}}, "'9000' is not of type 'integer'"),
    ({"interface": {"bond1": {"link": {"mtu": 9217}}}}, "9217 is greater than the maximum of 9216"),
    ({"interface": {"bond1": {"nonsense": {}}}}, "('nonsense' was unexpected) - 'interface.bond1'"),
    ({"interface": {"lo": {"ipv4": {"address": {"10.0.0.1/32": {}}}}}}, "('ipv4' was unexpected)"),
    ({"interface": {"lo": {"ip": {"address": {"10.0.0.300/32": {}}}}}}, "was unexpected"),
    ({"interface": {"bond1": {"evpn": {"multihoming": {"segment": {"mac-address": 3}}}}}}, "not of type"),
    ({"router": {"bgp": {"autonomous-system": 4294967296}}}, "greater than the maximum"),
    ({"qos": {"roce": {"mode": "lossfree"}}}, "'lossfree' is not one of"),
    ({"bridge": {"domain": {"br_default": {"vlan": {"x": {}}}}}}, "'x' was unexpected"),
    ({"interface": []}, "[] is not of type 'object'"),
]


@pytest.mark.parametrize(("patch", "said"), WRONG)
def test_a_wrong_patch_is_refused_in_words_that_name_the_path(call: Caller, patch: Tree, said: str) -> None:
    name = call.create()
    status, answer = call("PATCH", f"/?rev={name}", patch)
    assert status == 400
    assert said in answer["detail"]
    assert call("GET", f"/?rev={name}&diff=applied&filled=false")[1] == {}


def test_each_dialect_refuses_the_words_of_the_other() -> None:
    old, new = Rules(new=False), Rules(new=True)
    tree = {"qos": {"roce": {"enable": "on"}}}
    assert not old.refuse(tree)
    assert new.refuse(tree)
    tree = {"qos": {"roce": {"state": "enabled"}}}
    assert not new.refuse(tree)
    assert old.refuse(tree)


BGP = {
    "router": {"bgp": {"enable": "on", "autonomous-system": 65101}},
    "vrf": {
        "default": {
            "router": {
                "bgp": {
                    "peer-group": {"underlay": {"remote-as": "external"}},
                    "neighbor": {"swp31": {"peer-group": "underlay", "type": "unnumbered"}},
                }
            }
        }
    },
}
SEGMENT = {"enable": "on", "local-id": 1, "mac-address": "44:38:39:BE:EF:01"}
INVALID = [
    (merge(BGP, {"router": {"bgp": {"autonomous-system": None}}}), "requires autonomous-system"),
    (
        merge(BGP, {"vrf": {"default": {"router": {"bgp": {"peer-group": None}}}}}),
        "peer-group underlay does not exist",
    ),
    ({"interface": {"swp9": {}}}, "swp9 has no type"),
    ({"interface": {"swp9": {"type": "swp", "evpn": {"multihoming": {"segment": SEGMENT}}}}}, "needs a bond"),
    (
        {
            "interface": {
                "bond1": {
                    "type": "bond",
                    "evpn": {"multihoming": {"segment": {**SEGMENT, "local-id": None}}},
                }
            }
        },
        "needs local-id",
    ),
    (
        {
            "interface": {
                name: {"type": "bond", "bond": {"member": {"swp9": {}}}} for name in ("bond1", "bond2")
            }
        },
        "already a member of bond1",
    ),
    (
        {"bridge": {"domain": {"br_default": {"vlan": {"9": {"vni": {"9": {}}}, "10": {"vni": {"9": {}}}}}}}},
        "already used by VLAN 9",
    ),
]


@pytest.mark.parametrize(("patch", "said"), INVALID)
def test_a_tree_that_contradicts_itself_is_invalid_when_applied(call: Caller, patch: Tree, said: str) -> None:
    before = call.applied()
    name = call.create()
    assert call("PATCH", f"/?rev={name}", patch)[0] == 200
    call("PATCH", f"/revision/{name}", APPLY)
    shown = call.settle(name)
    issue = shown["transition"]["issue"]["00000"]
    assert (shown["state"], issue["severity"]) == ("invalid", "error")
    assert said in issue["message"]
    assert issue["data"]["location"]
    assert call.applied() == before


def test_a_backend_that_fails_leaves_the_switch_as_it_was(certificate: Certificate) -> None:
    fabric = Fabric(refuse={"leaf0-1": Issue("systemctl", "frr.service failed")})
    switch = Switch("leaf0-1", backend=fabric.member("leaf0-1"), pace=PACE, clock=SimulatedTime())
    with Server(switch, certificate) as server:
        call = Caller(server, certificate)
        before, name = call.applied(), call.create()
        call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
        call("PATCH", f"/revision/{name}", APPLY)
        shown = call.settle(name)
        assert (shown["state"], shown["transition"]["issue"]["00000"]["code"]) == ("apply_fail", "systemctl")
        assert call.applied() == before


def test_access(switch: Switch, certificate: Certificate, server: Server) -> None:
    assert Caller(server, certificate, "wrong")("GET", "/system")[0] == 401
    with Server(switch, certificate, password="cumulus") as fresh:
        status, answer = Caller(fresh, certificate, "cumulus")("GET", "/system")
        assert (status, answer["title"]) == (403, "Forbidden")


@pytest.mark.parametrize(("release", "path"), [("5.9.2", "build"), ("5.14.0", "version/image")])
def test_the_release_is_where_that_release_has_it(certificate: Certificate, release: str, path: str) -> None:
    with Server(Switch(release=release), certificate) as server:
        answer = Caller(server, certificate)("GET", f"/system/{path}?rev=operational")
        assert answer == (200, f"Cumulus Linux {release}")


@pytest.mark.parametrize("kind", KINDS)
def test_each_fault_hits_the_call_that_it_is_for(call: Caller, server: Server, kind: str) -> None:
    server.inject(Fault(kind, at=1))
    assert call("GET", "/system")[0] == 200
    try:
        outcome = str(call("GET", "/system", timeout=0.2 if kind == "hang" else 10)[0])
    except (OSError, http.client.HTTPException) as error:
        outcome = type(error).__name__
    gone = ("RemoteDisconnected", "SSLEOFError", "ConnectionResetError")
    expected = {
        "hang": ("TimeoutError",),
        "500": ("500",),
        "500-after": ("500",),
        "partial": ("IncompleteRead",),
    }
    assert outcome in expected.get(kind, gone)
    if kind == "certificate":
        with pytest.raises(ssl.SSLCertVerificationError):
            call("GET", "/system")
    assert call("GET", "/system")[0] == 200


@pytest.mark.parametrize("kind", ["reset", "reset-after"])
def test_a_reset_comes_before_or_after_the_work(call: Caller, server: Server, kind: str) -> None:
    server.inject(Fault(kind))
    with pytest.raises((OSError, http.client.HTTPException)):
        call("POST", "/revision")
    assert len(server.switch.revisions) == (2 if kind == "reset-after" else 1)


def leaf(number: int, evpn: bool = True) -> Tree:
    """A small leaf: one uplink, one bond with a segment, one VNI."""
    family = {"l2vpn-evpn": {"enable": "on" if evpn else "off"}}
    return {
        "interface": {
            "swp9": {"type": "swp"},
            "swp31": {"type": "swp"},
            "bond1": {
                "type": "bond",
                "bond": {"member": {"swp9": {}}},
                "link": {"mtu": 9000},
                "bridge": {"domain": {"br_default": {"vlan": {"9": {}, "3000": {}}, "untagged": 3000}}},
                "evpn": {"multihoming": {"segment": SEGMENT}},
            },
        },
        "bridge": {"domain": {"br_default": {"vlan": {"9": {"vni": {"9": {}}}}}}},
        "nve": {"vxlan": {"enable": "on", "source": {"address": f"10.10.10.{number}"}}},
        "evpn": {"enable": "on", "multihoming": {"enable": "on"}},
        "qos": {"roce": {"enable": "on"}},
        "router": {"bgp": {"enable": "on", "autonomous-system": 65100 + number}},
        "vrf": {
            "default": {
                "router": {
                    "bgp": {
                        "address-family": family,
                        "peer-group": {"underlay": {"remote-as": "external", "address-family": family}},
                        "neighbor": {"swp31": {"peer-group": "underlay", "type": "unnumbered"}},
                    }
                }
            }
        },
    }


def spine() -> Tree:
    tree = leaf(99)
    neighbors = {f"swp{n}": {"peer-group": "underlay", "type": "unnumbered"} for n in (1, 2)}
    tree["vrf"]["default"]["router"]["bgp"]["neighbor"] = neighbors
    return {
        "interface": {"swp1": {"type": "swp"}, "swp2": {"type": "swp"}},
        "router": tree["router"],
        "vrf": tree["vrf"],
    }


@pytest.fixture
def fabric() -> Fabric:
    fabric = Fabric()
    for number in (1, 2):
        fabric.cable((f"leaf0-{number}", "swp31"), ("spine0", f"swp{number}"))
        fabric.host((f"leaf0-{number}", "swp9"), HostPort("node1", f"b8:3f:d2:00:00:0{number}"))
        fabric.member(f"leaf0-{number}").apply(leaf(number))
    fabric.member("spine0").apply(spine())
    return fabric


def neighbor(fabric: Fabric, name: str, port: str) -> Tree:
    shown = fabric.members[name].operational()["vrf"]["default"]["router"]["bgp"]["neighbor"]
    return shown[port]


def test_wired_switches_see_their_neighbours_sessions_and_segment_peers(fabric: Fabric) -> None:
    shown = fabric.members["leaf0-1"].operational()
    assert shown["interface"]["swp31"]["lldp"]["neighbor"]["spine0"]["port"]["name"] == "swp1"
    assert shown["interface"]["swp9"]["lldp"]["neighbor"]["node1"]["port"]["type"] == "mac"
    assert shown["interface"]["bond1"]["link"] == {"mtu": 9000, "state": {"up": {}}, "oper-status": "up"}
    assert neighbor(fabric, "leaf0-1", "swp31")["state"] == "established"
    assert set(neighbor(fabric, "leaf0-1", "swp31")["address-family"]) == {"ipv4-unicast", "l2vpn-evpn"}
    assert list(shown["evpn"]["multihoming"]["esi"]) == ["03:44:38:39:be:ef:01:00:00:01"]
    (segment,) = shown["evpn"]["multihoming"]["esi"].values()
    assert list(segment["remote-vtep"]) == ["10.10.10.2"]
    assert list(shown["evpn"]["vni"]) == ["9"]
    assert shown["qos"]["roce"]["mode"] == "lossless"
    port = shown["bridge"]["domain"]["br_default"]["port"]["bond1"]
    assert {vlan: each["tag-state"] for vlan, each in port["vlan"].items()} == {
        "9": "tagged",
        "3000": "untagged",
    }


def test_a_cut_uplink_takes_the_session_and_the_peer_away(fabric: Fabric) -> None:
    fabric.cut.add(("spine0", "swp2"))
    assert neighbor(fabric, "leaf0-2", "swp31")["state"] == "idle"
    (segment,) = fabric.members["leaf0-1"].operational()["evpn"]["multihoming"]["esi"].values()
    assert segment["remote-vtep"] == {}


def test_evpn_on_one_side_only_is_a_session_without_evpn(fabric: Fabric) -> None:
    fabric.members["leaf0-2"].apply(leaf(2, evpn=False))
    assert "l2vpn-evpn" not in neighbor(fabric, "leaf0-2", "swp31")["address-family"]


def test_two_ends_with_one_asn_have_no_external_session(fabric: Fabric) -> None:
    fabric.members["leaf0-1"].apply(leaf(99))
    assert neighbor(fabric, "leaf0-1", "swp31")["state"] == "idle"


def test_a_silent_host_port_tells_nothing(fabric: Fabric) -> None:
    fabric.hosts["leaf0-1", "swp9"].speaks = False
    assert fabric.members["leaf0-1"].operational()["interface"]["swp9"]["lldp"] == {"neighbor": {}}


def test_diff_is_the_patch_between_two_trees() -> None:
    base, target = {"a": {"b": 1, "c": {}}, "d": {}}, {"a": {"b": 2}, "e": {"f": {}}}
    patch = diff(base, target)
    assert patch == {"a": {"b": 2, "c": None}, "d": None, "e": {"f": {}}}
    assert merge(base, patch) == target
    assert diff(target, target) == {}
