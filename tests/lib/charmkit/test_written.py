# SPDX-License-Identifier: Apache-2.0
"""A hook's writes go through their own reader first: a refusal by it is a warning and no traceback."""

import json
from typing import Any

import pytest
from charmkit import metrics
from converge import Severity
from exporter import facts
from exporter.facts import Facts, PortFacts, Reboot
from hostnic import handover
from lab.modelled import FakeHost

TOLD = Facts(
    "sriov", "sriov/3", at=60, findings={"warning": 1}, reboot=Reboot(held={"sriov/3": -60}, queue=0)
)


@pytest.mark.parametrize("reason", ["two\nlines", "8 VFs\0", "\ud800", "8 VFs" * 20_000])
def test_a_reboot_that_could_not_be_read_again_is_not_handed_over(application: Any, reason: str):
    app = application(1)
    node = app.nodes[0]
    node.owner = "nic-firmware"
    app.hook(0)
    before = node.host.disk.read(handover.path_of("sriov"))
    node.needs = (reason,)

    out = app.hook(0)

    assert out.unit_status.message.endswith("(+1 more, see verify)"), "the warning that it cannot be written"
    assert node.host.disk.read(handover.path_of("sriov")) == before


@pytest.mark.parametrize(
    "told",
    [
        TOLD,
        TOLD._replace(reboot=None, flows=None, fabric=None),
        TOLD._replace(ports=(PortFacts("0000:3b:00.0", "", "", declared={"vfs": 8}, actual={}),)),
    ],
)
def test_the_exporter_reads_what_the_hook_wrote(told: Facts):
    host = FakeHost()

    assert metrics.publish(host, told, place=False) == ()
    assert facts.read(host, "sriov") == told


@pytest.mark.parametrize(
    "told",
    [
        TOLD._replace(unit="Sriov/3"),
        TOLD._replace(held=-1),
        TOLD._replace(findings={"fatal": 1}),
        TOLD._replace(ports=(PortFacts("0000:3b:00.0", "a name that is too long", ""),)),
        TOLD._replace(reboot=Reboot(limit=1 << 40)),
    ],
)
def test_what_the_exporter_could_not_read_is_a_warning_and_leaves_what_is_there(told: Facts):
    host = FakeHost()
    metrics.publish(host, TOLD, place=False)
    before = host.disk.read(facts.path_of("sriov"))

    (warning,) = metrics.publish(host, told, place=False)

    assert warning.severity is Severity.WARNING
    assert "is not allowed; expected" in warning.what
    assert host.disk.read(facts.path_of("sriov")) == before
    assert json.loads(before)["unit"] == "sriov/3"
