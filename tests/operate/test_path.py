# SPDX-License-Identifier: Apache-2.0
"""The documented path, typed as it stands in docs/how-to/deploy.md: from the site file to a verified model.

Step 0 changes the operator's computer, step 1 needs switches (tests/unit/cumulus_fabric/online), step 9 a
cloud. MAAS, Juju's client, Vault and the operator's editor are stand-ins; all else is the real command.
"""

import stat
import subprocess
from pathlib import Path

import pytest
from bundle.documents import ROOT, steps
from check import checker
from lab.juju import cli
from lab.maas import KEY, Region
from lab.maassite import SPACES, connect, discover, equip, interfaces
from maas import __main__ as maas
from maas import commission as commissioning
from operate import __main__ as operate
from vault import __main__ as vault

MAINS = {"maas": maas.main, "vault": vault.main, "juju": operate.main, "bundle": checker.main}
EDITOR = """#!/bin/sh
for file; do
    case $file in
        *switches.txt) echo cumulus:secret > "$file";;
        *maas-api-key) echo KEY > "$file";;
        *bmc-*) echo root > "$file";;
        *site.yaml) sed -i s,../../charms/cumulus-fabric/examples/rdg.yaml,site-fabric.yaml, "$file";;
    esac
done
"""
PINS = f"Leaf0-1={'ab' * 32}\n"


@pytest.fixture
def region(monkeypatch):
    """A MAAS whose machines are as the example says, once they are commissioned."""
    region = Region()
    discover(region, "192.168.25.0/24")
    equip(region)
    connect(monkeypatch, region)
    monkeypatch.setattr(commissioning, "POLL", 0)
    return region


@pytest.fixture
def desk(world, server, region):
    """The operator's clone and home; Juju knows nothing yet."""
    deployed = world.model["status"]
    ours = ["sriov-switchdev/0", "sriov-switchdev/1", "nic-firmware/0", "nic-firmware/10", "cumulus-fabric/0"]
    verified = {"results": {"verified": "true", "findings": "[]"}}
    answers = {f"{unit} verify": verified for unit in ours}
    for action in ("nic-firmware/0 plan", "sriov-switchdev/0 plan", "sriov-switchdev/0 approve-reboot"):
        answers[action] = {"results": {}}
    answers |= {"vault/0 authorize-charm": {}, "vault/0 generate-root-ca": {}}
    world.path.write_text(cli.json.dumps(cli.EMPTY))
    world.change(**{"maas spaces": SPACES, "deployed": deployed, "actions": answers})
    (world.folder / "bin/editor").write_text(EDITOR.replace("KEY", KEY))
    (world.folder / "bin/editor").chmod(0o755)
    for name in ("bundles", "charms", "tools"):
        (world.folder / name).symlink_to(ROOT / name)
    return world


def typed(command):
    """The exit status of a command as the document has it; tox runs in this process."""
    if command.text.startswith("pipx run tox -e "):
        environment, _, arguments = command.text.removeprefix("pipx run tox -e ").partition(" -- ")
        return MAINS[environment](
            [str(Path(word).expanduser()) if word[0] == "~" else word for word in arguments.split()]
        )
    return subprocess.run(["sh", "-c", command.text], stdout=subprocess.DEVNULL).returncode


def test_the_documented_commands_lead_from_the_site_file_to_a_verified_model(desk, region, server, capsys):
    path = steps(ROOT / "docs/how-to/deploy.md")
    files = [command for number in "01" for command in path[f"{number}."] if "editor" in command.text]
    assert [typed(command) for command in files] == [0, 0]
    private = Path.home() / ".config/ovn-offload"
    assert {stat.S_IMODE(file.stat().st_mode) for file in private.iterdir()} == {0o600}
    (private / "pins.txt").write_text(PINS)  # step 1 asks the switches
    commands = [command for number in range(2, 9) for command in path[f"{number}."]]
    for command in commands:
        status = typed(command)
        said = capsys.readouterr()
        assert status == 0, (command, said)
    assert "All 5 units are verified." in said.out
    assert "br-nvda.40" in interfaces(region, "node1")
    assert len(server.used) == 3
    model = desk.model
    (secret,) = model["secrets"].values()
    assert secret["content"] == {"user": "cumulus", "password": "secret"}
    assert model["config"]["cumulus-fabric"]["pinned-certificates"] == PINS.strip()
    made = {path.name for path in desk.folder.iterdir()} - {"bin", "bundles", "charms", "tools"}
    assert {"site.yaml", "site-fabric.yaml", "site-overlay.yaml"} <= made
    assert not {path for path in made if "secret" in path or path.endswith(".txt")}
    assert (private / "vault-keys.txt").exists()
    runs = [call[-2:] for call in desk.state["calls"] if call[0] == "run" and "approve-reboot" in call]
    assert runs == [["sriov-switchdev/leader", "approve-reboot"]]
