# SPDX-License-Identifier: Apache-2.0
"""The simulated OpenStack beside real ones: what tests/recorded/openstack has of each release."""

import pytest
from lab.openstack.http import OpenStack
from recorded.openstack import Life, answers, calls

RELEASES = ("yoga", "2024.1")
PATHS = {
    "identity": "identity/v3",
    "compute": "compute/v2.1",
    "network": "network/v2.0",
    "image": "image/v2",
}


@pytest.mark.parametrize("release", RELEASES)
def test_the_simulated_cloud_answers_each_request_as_the_real_one(release):
    recorded = answers(release)
    with OpenStack(release) as cloud:
        services = {name: f"{cloud.url}/{path}" for name, path in PATHS.items()}
        cloud.neutron.vlans = [101, 102, 9]
        life = Life(services, (cloud.keystone.password, cloud.keystone.password), "admin_domain")
        found = {call.call: said for call, said in life.answers(calls())}
    assert found == recorded


@pytest.mark.parametrize("release", RELEASES)
def test_each_call_has_a_recorded_answer_and_none_is_of_no_call(release):
    assert [*answers(release)] == [each.call for each in calls()]
