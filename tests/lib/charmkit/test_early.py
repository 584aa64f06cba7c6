# SPDX-License-Identifier: Apache-2.0
"""A hook about a peer ends before ops is loaded, on units that do not lead and on no other."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHANGED = {"JUJU_DISPATCH_PATH": "hooks/reboot-relation-changed", "JUJU_REMOTE_UNIT": "sriov-switchdev/3"}
WITHOUT_OPS = "raise SystemExit('ops is loaded')"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """An ``is-leader`` that prints the content of a file, and an ``ops`` that tells that it was loaded."""
    tool = tmp_path / "is-leader"
    tool.write_text(f'#!/bin/sh\n[ "$*" = --format=json ] && cat {tmp_path}/leads\n')
    tool.chmod(0o755)
    (tmp_path / "leads").write_text("false\n")
    (tmp_path / "ops.py").write_text(WITHOUT_OPS)
    return tmp_path


def dispatch(tools: Path, charm: str, environment: dict[str, str]) -> tuple[int, str]:
    source = ROOT / "charms" / charm / "src"
    paths = (tools, ROOT / "lib", source)
    done = subprocess.run(
        [sys.executable, str(source / "charm.py")],
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr.strip()


CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric")


@pytest.mark.parametrize("charm", CHARMS)
@pytest.mark.parametrize("hook", ["fabric-relation-joined", "juju-info-relation-changed"])
def test_a_hook_that_tells_no_unit_anything_ends_without_any_process(tools: Path, charm: str, hook: str):
    (tools / "is-leader").write_text("#!/bin/sh\nexit 1\n")

    assert dispatch(tools, charm, {**CHANGED, "JUJU_DISPATCH_PATH": f"hooks/{hook}"}) == (0, "")


@pytest.mark.parametrize("charm", ["nic-firmware", "sriov-switchdev"])
@pytest.mark.parametrize("kind", ["joined", "changed", "departed"])
def test_a_peers_hook_ends_at_once(tools: Path, charm: str, kind: str):
    hook = {**CHANGED, "JUJU_DISPATCH_PATH": f"hooks/reboot-relation-{kind}"}

    assert dispatch(tools, charm, hook) == (0, "")


@pytest.mark.parametrize(
    ("environment", "leads"),
    [
        pytest.param(CHANGED, "true\n", id="the leader"),
        pytest.param(CHANGED, "", id="is-leader says nothing"),
        pytest.param({**CHANGED, "JUJU_REMOTE_UNIT": ""}, "false\n", id="the leader's state"),
        pytest.param({**CHANGED, "JUJU_DISPATCH_PATH": "hooks/update-status"}, "false\n", id="another hook"),
        pytest.param({"JUJU_DISPATCH_PATH": "hooks/start"}, "false\n", id="start"),
    ],
)
def test_any_other_hook_goes_on(tools: Path, environment: dict[str, str], leads: str):
    (tools / "leads").write_text(leads)

    assert dispatch(tools, "sriov-switchdev", environment) == (1, "ops is loaded")


def test_where_is_leader_fails_ops_says_why(tools: Path):
    (tools / "is-leader").write_text("#!/bin/sh\nexit 1\n")

    assert dispatch(tools, "sriov-switchdev", CHANGED) == (1, "ops is loaded")


def test_the_hook_ends_without_an_error(tools: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {**CHANGED, "PATH": f"{tools}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("charmkit.early").end_early()
    assert ended.value.code == 0


NOTHING = '{"egress-subnets": "192.0.2.7/32", "ingress-address": "192.0.2.7"}'


@pytest.mark.parametrize(
    ("unit", "application", "ends"),
    [
        pytest.param(NOTHING, "{}", True, id="neither has published anything"),
        pytest.param('{"host": "{}"}', "{}", False, id="the unit has"),
        pytest.param(NOTHING, '{"policy": "{}"}', False, id="its application has"),
        pytest.param("", "{}", False, id="the tool says nothing"),
        pytest.param("null", "{}", False, id="the tool says something else"),
    ],
)
def test_behind_joined_the_other_side_of_fabric_tells_something_once_it_has_published_it(
    tools: Path, monkeypatch: pytest.MonkeyPatch, unit: str, application: str, ends: bool
):
    (tools / "unit").write_text(unit)
    (tools / "application").write_text(application)
    tool = tools / "relation-get"
    cases = '"-r fabric:3 - roce-qos/1") cat unit;; "--app -r fabric:3 - roce-qos") cat application;;'
    tool.write_text(f'#!/bin/sh\ncd {tools}; shift; case "$*" in {cases} *) exit 1;; esac\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("JUJU_DISPATCH_PATH", "hooks/fabric-relation-changed")
    monkeypatch.setenv("JUJU_REMOTE_UNIT", "roce-qos/1")
    monkeypatch.setenv("JUJU_RELATION_ID", "fabric:3")
    try:
        importlib.import_module("charmkit.early").end_early()
    except SystemExit as ended:
        assert (ends, ended.code) == (True, 0)
    else:
        assert not ends


@pytest.mark.parametrize(
    ("hook", "unit", "ends"),
    [
        ("", "", False),
        ("hooks/start", "", False),
        ("hooks/fabric-relation-joined", "roce-qos/1", True),
        ("hooks/fabric-relation-changed", "roce-qos/1", False),
        ("hooks/juju-info-relation-departed", "ubuntu/1", True),
        ("hooks/reboot-relation-joined", "nic-firmware/1", True),
        ("hooks/reboot-relation-changed", "nic-firmware/1", True),
        ("hooks/reboot-relation-departed", "nic-firmware/1", True),
        ("hooks/reboot-relation-changed", "", False),
        ("hooks/reboot-relation-created", "nic-firmware/1", False),
    ],
)
def test_which_hooks_of_a_unit_that_does_not_lead_end(
    tools: Path, monkeypatch: pytest.MonkeyPatch, hook: str, unit: str, ends: bool
):
    """In this process: tox -e mutants does not see what runs in another one."""
    early = importlib.import_module("charmkit.early")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("JUJU_DISPATCH_PATH", hook)
    monkeypatch.setenv("JUJU_REMOTE_UNIT", unit)
    try:
        early.end_early()
    except SystemExit as ended:
        assert (ends, ended.code) == (True, 0)
    else:
        assert not ends
