# SPDX-License-Identifier: Apache-2.0
"""Servers' GPUs are looked at before RDMA between them is measured, and nothing on the servers is changed."""

import re

import pytest
from acceptance.measure import gpu


@pytest.fixture
def gpus(world):
    """A world after apply whose image has CUDA, and whose ladder ends with RDMA between GPUs."""
    world.site["software"] = ["cuda"]
    world.rungs = {"host": ("rdma-bw",), "vf-rdma": ("gpu-bw",)}
    assert world.run("apply")[0] == 0
    return world


def measured(world):
    """Exit status, the figures of the rung, its problems, and what costs throughput on vm1."""
    status, _, _ = world.run("measure")
    rung = world.result()["results"]["rungs"]["vf-rdma"]
    return status, rung["figures"], rung["problems"], rung["gpus"]["vm1"]


def test_gpus_as_in_the_reference_design_are_measured(gpus):
    status, figures, problems, costs = measured(gpus)
    assert (status, problems, costs) == (0, {}, [])
    assert figures["gpu-bw"]["value"] == 182
    page = (gpus.state / "report.html").read_text()
    assert "<li>vm2: one bus or bridge, MIG off, persistence mode on, clock at its maximum</li>" in page


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"peermem": False}, "nvidia_peermem is not loaded: run sudo modprobe nvidia-peermem there"),
        (
            {"gpu": ""},
            "it has no NVIDIA GPU: see openstack flavor show NAME -c properties, and pci-alias of ",
        ),
        (
            {"smi": "0, Enabled, Enabled, Enabled, 1410, 765, 1410"},
            "MIG of GPU 0 is on: run sudo nvidia-smi -i 0 -mig 0 there",
        ),
        ({"smi": "0, Enabled, Disabled, Enabled, 1410, 765, 1410"}, "MIG of GPU 0 is on: reboot it"),
        (
            {"smi": "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.\n"},
            "nvidia-smi does not show its GPU (NVIDIA-SMI has failed because it could not communicate with "
            "the NVIDIA driver.): install NVIDIA's driver for this kernel",
        ),
    ],
)
def test_what_is_missing_on_each_server_is_named_instead_of_a_failure_of_the_tool(gpus, state, said):
    vars(gpus.machines).update(state)
    status, figures, problems, _ = measured(gpus)
    assert (status, figures) == (2, {})
    assert all(f"{vm}: {said}" in problems["gpu-bw"] for vm in ("vm1", "vm2"))
    assert not any("ib_write_bw" in script and "--use_cuda" in script for _, script in gpus.machines.scripts)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            {"smi": "0, [N/A], [N/A], Disabled, 1410, 765, 1410"},
            "persistence mode of GPU 0 is off: run sudo nvidia-smi -i 0 -pm 1 there",
        ),
        (
            {"smi": "0, Disabled, Disabled, Enabled, 210, 765, 1410"},
            "GPU 0 runs at 765 of 1410 MHz: run sudo nvidia-smi -i 0 -lgc 1410 there",
        ),
        (
            {"gpu": "0000:00:02.5/0000:06:00.0"},
            "VF 0000:00:04.0 is below devices and GPU 0000:06:00.0 is below 0000:00:02.5, not below one "
            "bridge: openstack image set --property hw_machine_type=pc IMAGE puts both on one bus of a new "
            "server",
        ),
    ],
)
def test_what_costs_throughput_is_named_and_explains_a_loss(gpus, state, said):
    vars(gpus.machines).update(state)
    status, figures, problems, costs = measured(gpus)
    assert (status, problems, costs) == (0, {}, [said])
    assert figures["gpu-bw"]["value"] == 182
    gpus.machines.limits["direct_overlay"] = 100.0
    gpus.run("measure")
    (found,) = gpus.result()["explanation"]
    assert f"vm1: {said}" in found["what"]


def test_nothing_on_the_servers_is_changed(gpus):
    gpus.machines.smi, gpus.machines.peermem = "0, Enabled, Enabled, Disabled, 210, 765, 1410", False
    gpus.run("measure")
    looks = [script for _, script in gpus.machines.scripts if "nvidia-smi" in script]
    assert len(looks) == 2
    assert not any(
        re.search(r"modprobe|nvidia-smi.* -(mig|pm|lgc|ac)\b|> /(sys|proc)", look) for look in looks
    )


ROOT = "/sys/devices/pci0000:00"


@pytest.mark.parametrize(
    ("vf", "card", "together"),
    [
        ("0000:00:05.0", "0000:00:06.0", True),
        ("0000:00:02.4/0000:05:00.0", "0000:00:02.5/0000:06:00.0", False),
        ("0000:00:02.4/0000:05:00.0/0000:06:01.0/0000:07:00.2", "0000:00:02.4/0000:09:00.0", True),
        ("0000:00:02.4/0000:05:00.0", "0000:00:06.0", False),
    ],
)
def test_one_bus_or_one_bridge_above_both_is_together(vf, card, together):
    told = gpu.read(
        f"vf {ROOT}/{vf}\ngpu {ROOT}/{card}\npeermem\nsmi 0, [N/A], [N/A], Enabled, [N/A], [N/A], [N/A]\n"
    )
    assert told.needs == []
    assert (told.costs == []) is together
