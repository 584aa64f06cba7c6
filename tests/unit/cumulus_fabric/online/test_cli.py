# SPDX-License-Identifier: Apache-2.0
"""The command line against simulated switches: day 0, when there is no Juju yet."""

import json
import os
from contextlib import ExitStack

import cli
import pytest
from client import PORT
from nvue import Certificate, Server, Switch
from nvue.rules import Issue
from unit.cumulus_fabric.fabrics import data, fabric
from unit.cumulus_fabric.online.site import PASSWORD, USER, wired

NET = f"127.{os.getpid() % 200 + 20}.77"
"""Addresses of this run, so that two runs on one machine do not meet at NVUE's port."""


def managed(content: dict) -> None:
    content["spines"]["management"] = f"{NET}.1"
    content["leaves"]["management"] = f"{NET}.11"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    addresses = tuple(f"IP:{switch.management}" for switch in fabric("rdg", managed).switches)
    return Certificate.make(tmp_path_factory.mktemp("authority"), names=addresses)


@pytest.fixture
def switches(authority):
    """The guide's six switches as they come from the factory, at their management addresses."""
    rdg = fabric("rdg", managed)
    wires = wired(rdg)
    with ExitStack() as stack:
        servers = {}
        for switch in rdg.switches:
            box = Switch(switch.name, "5.9.2", wires.member(switch.name))
            server = Server(
                box, authority, address=switch.management, port=PORT, user=USER, password=PASSWORD
            )
            servers[switch.name] = stack.enter_context(server)
        yield servers, wires


@pytest.fixture
def run(capsys, tmp_path, authority):
    content = data()
    managed(content)
    (tmp_path / "intent.yaml").write_text(json.dumps(content))
    secret = tmp_path / "credentials"
    secret.write_text(f"{USER}:{PASSWORD}\n")
    secret.chmod(0o600)
    common = ["--intent", str(tmp_path / "intent.yaml"), "--credentials", str(secret)]
    common += ["--ca", str(authority.certificate), "--timeout", "5"]

    def run(verb: str, *more: str) -> tuple[int, str, str]:
        quick = ["--confirm", "60", "--settle", "10"] if verb in ("apply", "rollback") else []
        status = cli.main([verb, *common, *quick, *more])
        out, err = capsys.readouterr()
        assert PASSWORD not in out + err
        return status, out, err

    return run


def test_plan_apply_verify_and_back_again(run, switches):
    servers, _ = switches
    factory = {name: server.switch.applied for name, server in servers.items()}

    status, out, _ = run("plan")
    assert status == 0
    assert "Leaf0-1" in out
    assert {name: server.switch.applied for name, server in servers.items()} == factory

    status, out, err = run("apply", "--canary", "Leaf1-2")
    assert status == 0, out + err
    assert out.endswith("fully applied: 6 switches changed\n")
    assert servers["Leaf0-1"].switch.applied["router"]["bgp"]["autonomous-system"] == 65101

    assert run("plan")[1].startswith("Nothing to do")
    status, out, _ = run("verify", "--format", "json")
    assert (status, json.loads(out)) == (0, [])

    status, out, _ = run("rollback", "--switch", "Leaf1-1")
    assert status == 0, out
    assert "router" not in servers["Leaf1-1"].switch.applied
    assert "router" in servers["Leaf1-2"].switch.applied
    assert run("verify")[0] == 1


def test_an_apply_that_a_switch_refuses_ends_with_status_1_and_says_so(run, switches):
    servers, wires = switches
    wires.refuse["Spine1"] = Issue("invalid-config", "the ASIC does not take it")
    status, out, _ = run("apply")
    assert status == 1
    assert "fully rolled back: every switch runs what it ran before" in out
    assert all("router" not in server.switch.applied for server in servers.values())


def test_switches_that_do_not_answer_are_named(run, switches):
    servers, _ = switches
    servers["Leaf0-2"].__exit__(None, None, None)
    status, out, _ = run("plan")
    assert status == 1
    assert "Leaf0-2" in out
