# SPDX-License-Identifier: Apache-2.0
"""Scripts that look for the ports whose VFs they set: those of other makers' NICs are not ours to stop."""

from pathlib import Path

import pytest
import yaml
from lab.modelled import card
from unit.sriov_switchdev.foreign import arrange
from unit.sriov_switchdev.node import Node, compute_node
from writers.ports import ports_named

SCRIPTS = yaml.safe_load((Path(__file__).parent / "other_makers.yaml").read_text())
OTHERS, ANY = SCRIPTS["others"], SCRIPTS["any"]


@pytest.mark.parametrize("script", OTHERS)
def test_a_script_for_other_makers_nics_sets_no_port_of_ours(script: str) -> None:
    assert ports_named(OTHERS[script], ()) == frozenset()


@pytest.mark.parametrize("script", ANY)
def test_a_script_that_may_come_to_our_ports_may_set_any(script: str) -> None:
    assert ports_named(ANY[script], ()) is None


SCRIPT = "/usr/local/bin/ice-vfs.sh"
LOOP = OTHERS["the driver's directory, listed"]
STARTERS = {
    "a unit": {
        "/etc/systemd/system/vfs.service": f"[Service]\nType=oneshot\nExecStart={SCRIPT}\n",
        "link /etc/systemd/system/multi-user.target.wants/vfs.service": "/etc/systemd/system/vfs.service",
    },
    "a udev rule": {
        "/etc/udev/rules.d/99-ice.rules": f'ACTION=="add", SUBSYSTEM=="net", RUN+="{SCRIPT} %k"\n',
    },
    "cron": {"/etc/cron.d/vfs": f"@reboot root {SCRIPT}\n"},
    "cloud-init": {"/var/lib/cloud/instance/cloud-config.txt": f"bootcmd: [[{SCRIPT}], [true]]\n"},
}


def deployed(monkeypatch: pytest.MonkeyPatch, starter: str, script: str) -> Node:
    """A host with an Intel NIC beside ours, on which ``script`` runs at boot."""
    host = compute_node(cards=[card(), card("5e", device="8086:1592", driver="ice")])
    arrange(host, {**STARTERS[starter], SCRIPT: f"#!/bin/sh\n{script}\n"})
    node = Node(host, monkeypatch)
    node.deploy(reboot_settle=0)
    return node


@pytest.mark.parametrize(
    "starter", sorted(STARTERS.keys() - {"a udev rule"})
)  # it runs for each port, ours too
def test_what_starts_it_is_not_to_be_disabled(monkeypatch: pytest.MonkeyPatch, starter: str) -> None:
    node = deployed(monkeypatch, starter, LOOP)
    assert "sets VFs or eswitch modes too" not in node.findings()


@pytest.mark.parametrize("starter", STARTERS)
def test_what_starts_one_for_all_ports_is_named(monkeypatch: pytest.MonkeyPatch, starter: str) -> None:
    node = deployed(monkeypatch, starter, ANY["a second loop over all"])
    assert "sets VFs or eswitch modes too" in node.findings()
    assert ("leave this charm's ports out there" in node.findings()) is (starter == "a unit")
