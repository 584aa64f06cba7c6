# SPDX-License-Identifier: Apache-2.0
"""sriov-switchdev under nova-compute on Juju 3.6, in a model of its own, with pytest-operator."""

import json

import pytest

PRINCIPAL = "nova-compute"
APP = "sriov-switchdev"

pytestmark = pytest.mark.usefixtures("libjuju")


@pytest.mark.abort_on_fail
async def test_a_subordinate_unit_comes_up_and_says_what_it_needs(ops_test, charm):
    """Any machine will do: where no ConnectX is, the unit says so instead of failing."""
    model = ops_test.model
    await model.deploy(PRINCIPAL, channel="2024.1/stable", base="ubuntu@22.04")
    await model.deploy(charm, application_name=APP, num_units=0)
    await model.integrate(f"{PRINCIPAL}:juju-info", f"{APP}:juju-info")
    await model.block_until(lambda: len(model.applications[APP].units) == 1, timeout=1800)
    await model.wait_for_idle(apps=[APP], raise_on_error=True, timeout=1800, idle_period=60)
    (unit,) = model.applications[APP].units
    assert unit.workload_status in ("active", "blocked"), unit.workload_status_message
    assert unit.workload_status == "active" or unit.workload_status_message


async def test_the_plan_is_shown_and_nothing_is_written(ops_test):
    (unit,) = ops_test.model.applications[APP].units
    before = unit.workload_status_message
    action = await (await unit.run_action("plan", format="json")).wait()
    assert action.status == "completed"
    assert isinstance(json.loads(action.results["plan"]), dict)
    assert unit.workload_status_message == before


async def test_a_wrong_option_blocks_in_one_sentence_and_comes_right_again(ops_test):
    application = ops_test.model.applications[APP]
    (unit,) = application.units
    # The unit may be blocked before, for another reason: wait for the words, not for the status.
    await application.set_config({"vf-lag": "maybe"})
    refused = "option vf-lag: 'maybe' is not allowed"
    await ops_test.model.block_until(lambda: unit.workload_status_message.startswith(refused), timeout=600)
    assert unit.workload_status == "blocked"
    await application.reset_config(["vf-lag"])
    await ops_test.model.block_until(
        lambda: not unit.workload_status_message.startswith(refused), timeout=600
    )
    await ops_test.model.wait_for_idle(apps=[APP], raise_on_error=True, timeout=600)


async def test_removal_takes_the_unit_away(ops_test):
    await ops_test.model.remove_application(APP, block_until_done=True, timeout=900)
    assert APP not in ops_test.model.applications
