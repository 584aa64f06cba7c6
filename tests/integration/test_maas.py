# SPDX-License-Identifier: Apache-2.0
"""The whole bundle on a MAAS cloud: deployed, converged, verified, rebooted, verified again.

JUJU_MAAS_OVERLAYS lists overlays, in order, separated by spaces; without it, overlays/no-fabric.yaml, which
needs none of the switches. JUJU_MAAS_FABRIC_CREDENTIALS is a YAML file for `juju add-secret --file`.
"""

import json
import os
import time
from pathlib import Path

import pytest
from vault import client as vault

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
OVERLAYS = os.environ.get("JUJU_MAAS_OVERLAYS", "overlays/no-fabric.yaml").split()
HOST_CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos")
DEPLOY, CONVERGE, REBOOT = 3 * 3600, 2 * 3600, 1800
"""Seconds: machines, containers and packages; one rolling reboot of all compute nodes; one node's reboot."""

pytestmark = [pytest.mark.usefixtures("maas", "libjuju", "charms"), pytest.mark.abort_on_fail]
KEYS: list[vault.Keys] = []


def units(ops_test, *names):
    applications = ops_test.model.applications
    return [unit for name in names if name in applications for unit in applications[name].units]


async def act(unit, name, **parameters):
    action = await (await unit.run_action(name, **parameters)).wait()
    assert action.status == "completed", f"{unit.name} {name}: {action.message}"
    return action.results


async def assert_verified(ops_test, *names):
    found = {}
    for unit in units(ops_test, *names):
        results = await act(unit, "verify", format="json")
        if results["verified"] != "true":
            found[unit.name] = json.loads(results["findings"])
    assert found == {}


async def on_machine(ops_test, machine, *command):
    code, out, error = await ops_test.juju("ssh", str(machine), "--", *command)
    return out.strip() if code == 0 else f"ssh: {error}"


async def open_vault(ops_test):
    address = await units(ops_test, "vault")[0].get_public_address()
    vault.unseal(vault.Vault(address), KEYS[0])


async def test_the_bundle_deploys(ops_test):
    arguments = [word for overlay in OVERLAYS for word in ("--overlay", str(ROOT / overlay))]
    code, out, error = await ops_test.juju("deploy", str(BUNDLE), *arguments)
    assert code == 0, out + error
    await ops_test.model.block_until(lambda: bool(units(ops_test, "vault")), timeout=600)
    await ops_test.model.wait_for_idle(apps=["vault"], status="blocked", timeout=DEPLOY, idle_period=60)


async def test_vault_is_opened(ops_test):
    unit = units(ops_test, "vault")[0]
    address = await unit.get_public_address()
    KEYS.append(vault.init(vault.Vault(address)))
    vault.unseal(vault.Vault(address), KEYS[0])
    await act(unit, "authorize-charm", token=vault.token(vault.Vault(address), KEYS[0]))
    await act(unit, "generate-root-ca")


async def test_the_fabric_charm_gets_its_credentials(ops_test):
    if "cumulus-fabric" not in ops_test.model.applications:
        pytest.skip("The overlays leave cumulus-fabric out.")
    file = os.environ["JUJU_MAAS_FABRIC_CREDENTIALS"]
    code, secret, error = await ops_test.juju("add-secret", "fabric", "--file", file)
    assert code == 0, error
    code, _, error = await ops_test.juju("grant-secret", "fabric", "cumulus-fabric")
    assert code == 0, error
    await ops_test.model.applications["cumulus-fabric"].set_config({"credentials": secret.strip()})


async def test_the_cloud_settles_with_at_most_a_reboot_outstanding(ops_test):
    """Everything but this repository's host charms is active; those may wait for the operator's word."""
    others = [name for name in ops_test.model.applications if name not in (*HOST_CHARMS, "cumulus-fabric")]
    await ops_test.model.wait_for_idle(apps=others, status="active", timeout=DEPLOY, idle_period=120)
    for unit in units(ops_test, *HOST_CHARMS):
        assert unit.workload_status in ("active", "blocked", "waiting", "maintenance"), (
            unit.workload_status_message
        )


async def test_one_approval_converges_every_node(ops_test):
    for unit in units(ops_test, "sriov-switchdev"):
        if await unit.is_leader_from_status():
            await act(unit, "approve-reboot")
    here = [name for name in HOST_CHARMS if name in ops_test.model.applications]
    await ops_test.model.wait_for_idle(apps=here, status="active", timeout=CONVERGE, idle_period=120)
    await open_vault(ops_test)


async def test_every_charm_verifies(ops_test):
    await assert_verified(ops_test, *HOST_CHARMS, "cumulus-fabric")


async def test_a_converged_node_has_nothing_to_do(ops_test):
    for unit in units(ops_test, *HOST_CHARMS):
        plan = json.loads((await act(unit, "plan", format="json"))["plan"])
        assert (plan["steps"], plan["held"]) == ([], []), unit.name


async def test_a_node_comes_back_from_a_reboot_as_it_was(ops_test):
    machine = units(ops_test, "nova-compute")[0].machine.id
    boot_id = ("cat", "/proc/sys/kernel/random/boot_id")
    before = await on_machine(ops_test, machine, *boot_id)
    await on_machine(ops_test, machine, "sudo", "systemctl", "reboot")
    deadline = time.monotonic() + REBOOT
    after = before
    while after == before or after.startswith("ssh:"):
        assert time.monotonic() < deadline, f"machine {machine} did not come back: {after}"
        time.sleep(15)
        after = await on_machine(ops_test, machine, *boot_id)
    here = [name for name in HOST_CHARMS if name in ops_test.model.applications]
    await ops_test.model.wait_for_idle(apps=here, status="active", timeout=REBOOT, idle_period=60)
    await open_vault(ops_test)
    await assert_verified(ops_test, *HOST_CHARMS, "cumulus-fabric")


async def test_offload_is_on_and_nothing_failed_on_the_nodes(ops_test):
    for unit in units(ops_test, "nova-compute"):
        machine = unit.machine.id
        question = ("sudo", "ovs-vsctl", "get", "Open_vSwitch", ".", "other_config:hw-offload")
        value = await on_machine(ops_test, machine, *question)
        assert value.strip('"') == "true"
        failed = await on_machine(ops_test, machine, "systemctl", "--failed", "--plain", "--no-legend")
        assert failed == ""
