# SPDX-License-Identifier: Apache-2.0
"""The action check-host: a host's tuning in the kernel's own formats in, advice with remedy and owner out."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import capture
import pytest
from config import Options
from hostnic.capture.file import read, take
from unit.sriov_switchdev.node import Node
from unit.sriov_switchdev.tuned import GPU, PF0, Tuned

CPU, NODES = "/sys/devices/system/cpu", "/sys/devices/system/node"
PAGES = "hugepages/hugepages-1048576kB/nr_hugepages"


@pytest.fixture
def tuned(node: Node) -> Tuned:
    return Tuned(node.host)


def rows(node: Node) -> dict[str, dict[str, Any]]:
    found = json.loads(node.action("check-host", format="json")["host"])
    return {row["check"]: row for row in found}


def test_a_host_as_the_reference_design_has_it_gets_no_advice(node: Node, tuned: Tuned) -> None:
    found = rows(node)
    assert {name: row["verdict"] for name, row in found.items()} == dict.fromkeys(found, "ok")
    assert [*found] == [
        *("SMT", "frequency governor", "C-states", "T-states", "IOMMU", "isolated CPUs"),
        *(
            "dedicated CPUs and NIC",
            "huge pages",
            "memory of the host",
            "irqbalance",
            "numa_balancing",
            "MTU",
        ),
    ]
    assert found["huge pages"]["found"] == "node 0: 48 of 1024 MiB; node 1: 48 of 1024 MiB"
    assert (
        found["memory of the host"]["found"] == "159250 MiB beside huge pages, reserved-host-memory 32768 MiB"
    )
    assert (node.writes, node.host.spawned) == ([], [])


SPOILED: list[tuple[str, Callable[[Tuned], object], str, str, str]] = [
    ("SMT", lambda it: it.write(f"{CPU}/smt/control", "on\n"), "on", "hyper-threading off", "BIOS"),
    (
        "frequency governor",
        lambda it: it.write(f"{CPU}/cpufreq/policy7/scaling_governor", "schedutil\n"),
        "performance, schedutil",
        "cpufreq.default_governor=performance",
        "MAAS tag",
    ),
    (
        "C-states",
        lambda it: [
            it.write(f"{CPU}/cpu2/cpuidle/state2/name", "C6\n"),
            it.write(f"{CPU}/cpu2/cpuidle/state2/latency", "133\n"),
            it.write(f"{CPU}/cpu2/cpuidle/state2/disable", "0\n"),
        ],
        "POLL (0 us), C1 (2 us), C6 (133 us)",
        "intel_idle.max_cstate=1 processor.max_cstate=1 (arm64: cpuidle.off=1)",
        "MAAS tag",
    ),
    (
        "C-states",
        lambda it: [
            it.write("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz idle=poll\n"),
            it.write(f"{CPU}/smt/control", "on\n"),
        ],
        "POLL (0 us), C1 (2 us); idle CPUs poll",
        "turn hyper-threading off or boot without idle=poll",
        "MAAS tag",
    ),
    (
        "T-states",
        lambda it: it.write("/sys/class/thermal/cooling_device0/max_state", "18\n"),
        "15 can be used",
        "turn ACPI T-states off",
        "BIOS",
    ),
    (
        "IOMMU",
        lambda it: it.write("/sys/kernel/iommu_groups/42/type", "DMA-FQ\n"),
        "enp59s0f0np0, enp59s0f1np1: DMA-FQ",
        "boot with iommu=pt (arm64: iommu.passthrough=1)",
        "MAAS tag",
    ),
    (
        "IOMMU",
        lambda it: setattr(it.host, "iommu", False),
        "enp59s0f0np0, enp59s0f1np1: off",
        "turn VT-d, AMD-Vi or the SMMU on, and on x86 boot with intel_iommu=on iommu=pt",
        "BIOS",
    ),
    (
        "isolated CPUs",
        lambda it: it.write(f"{CPU}/isolated", "2-21\n"),
        "isolcpus 2-21, cpu-dedicated-set 2-23",
        "boot with isolcpus=2-23",
        "MAAS tag",
    ),
    (
        "isolated CPUs",
        lambda it: it.write("/etc/nova/nova.conf", "[DEFAULT]\nreserved_host_memory_mb = 32768\n"),
        "isolcpus 2-23, cpu-dedicated-set none",
        "set cpu-dedicated-set to 2-23",
        "bundle option",
    ),
    (
        "isolated CPUs",
        lambda it: it.write(f"{CPU}/online", "2-23\n"),
        "isolcpus 2-23, cpu-dedicated-set 2-23",
        "leave CPUs for the host",
        "bundle option",
    ),
    (
        "dedicated CPUs and NIC",
        lambda it: it.write(f"{NODES}/node0/cpulist", "0-19\n"),
        "enp59s0f0np0, enp59s0f1np1 on NUMA node 0, CPUs 20-23 are not",
        "dedicate CPUs of that node (0-19)",
        "bundle option",
    ),
    (
        "huge pages",
        lambda it: [it.write(f"{NODES}/node{number}/{PAGES}", "0\n") for number in (0, 1)],
        "node 0: none; node 1: none",
        "hw:mem_page_size=large in the flavors",
        "MAAS tag",
    ),
    (
        "huge pages",
        lambda it: it.write(f"{NODES}/node0/{PAGES}", "0\n"),
        "node 0: none; node 1: 48 of 1024 MiB",
        "boot with hugepages=0:N",
        "MAAS tag",
    ),
    (
        "memory of the host",
        lambda it: it.write("/proc/meminfo", "MemTotal:       131457280 kB\n"),
        "30072 MiB beside huge pages, reserved-host-memory 32768 MiB",
        "lower hugepages of the tag",
        "MAAS tag",
    ),
    (
        "memory of the host",
        lambda it: it.write("/etc/nova/nova.conf", "[compute]\ncpu_dedicated_set=2-9,10-23\n"),
        "159250 MiB beside huge pages, reserved-host-memory 512 MiB",
        "set reserved-host-memory of nova-compute",
        "bundle option",
    ),
    (
        "irqbalance",
        lambda it: [
            it.host.disk.install(
                "/etc/systemd/system/multi-user.target.wants/irqbalance.service", b"", 0o644
            ),
            it.write(f"{CPU}/isolated", "\n"),
        ],
        "on, and no CPU is isolated",
        "isolate the CPUs of instances",
        "MAAS tag",
    ),
    (
        "numa_balancing",
        lambda it: it.write("/proc/sys/kernel/numa_balancing", "1\n"),
        "on",
        'sysctl="{kernel.numa_balancing: 0}"',
        "bundle option",
    ),
    (
        f"GPUDirect of {GPU}",
        lambda it: it.plug_gpu("0000:5d:00.0", "0000:5e:00.0"),
        "no PCIe bridge in common with a port (NUMA node 0, ports 0)",
        "below one PCIe switch",
        "PCIe slot",
    ),
    (
        f"GPUDirect of {GPU}",
        lambda it: it.plug_gpu(acs=0),
        "shares a bridge with enp59s0f0np0; ACS of 0000:3a:00.0, 0000:3b:08.0 is not set for it",
        "profile gpudirect of nic-firmware",
        "BIOS",
    ),
]


@pytest.mark.parametrize(
    ("check", "spoil", "found", "remedy", "owner"), SPOILED, ids=[f"{row[0]}: {row[2]}" for row in SPOILED]
)
def test_what_differs_is_advised_with_its_remedy_and_who_changes_it(
    node: Node,
    tuned: Tuned,
    check: str,
    spoil: Callable[[Tuned], object],
    found: str,
    remedy: str,
    owner: str,
) -> None:
    spoil(tuned)
    row = rows(node)[check]
    assert (row["verdict"], row["found"], row["owner"]) == ("advice", found, owner)
    assert remedy in row["remedy"]


def test_a_gpu_below_the_nics_bridge_with_acs_is_fine(node: Node, tuned: Tuned) -> None:
    tuned.plug_gpu()
    row = rows(node)[f"GPUDirect of {GPU}"]
    assert (row["verdict"], row["found"]) == ("ok", "shares a bridge with enp59s0f0np0, with ACS")


def test_a_servers_management_vga_is_no_gpu(node: Node, tuned: Tuned) -> None:
    tuned.plug_gpu()
    node.host.gpus[GPU].vendor = "0x1a03"
    assert f"GPUDirect of {GPU}" not in rows(node)


def test_larger_mtus_above_the_ports_are_named(node: Node, tuned: Tuned) -> None:
    internal = node.host.network.others["br-nvda"]
    node.host.network.others["br-nvda"] = internal._replace(mtu=9216)
    row = rows(node)["MTU"]
    assert row["found"] == "enp59s0f0np0 9000, enp59s0f1np1 9000, br-nvda 9216"
    assert (row["verdict"], row["owner"]) == ("advice", "MAAS")


MISSING = {
    "SMT": f"{CPU}/smt/",
    "C-states": f"{CPU}/cpu2/cpuidle/state0/name",
    "isolated CPUs": f"{CPU}/isolated",
    "dedicated CPUs and NIC": f"{NODES}/",
    "T-states": "/sys/class/thermal/",
    "huge pages": f"{NODES}/",
    "memory of the host": "/proc/meminfo",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "IOMMU": "/sys/kernel/iommu_groups/",
    "frequency governor": f"{CPU}/cpufreq/",
}


@pytest.mark.parametrize("check", MISSING)
def test_what_a_kernel_does_not_tell_is_unknown_and_no_advice(node: Node, tuned: Tuned, check: str) -> None:
    tuned.remove(MISSING[check])
    row = rows(node)[check]
    assert (row["verdict"], row["remedy"], row["owner"]) == ("unknown", "-", "-")


@pytest.mark.parametrize(
    "text",
    [
        "cpu_dedicated_set",
        "[compute]\ncpu_dedicated_set = 2-x\n",
        "\x00[",
        "[compute",
        "[compute]\ncpu_dedicated_set = " + "9" * 5000,
        "reserved_host_memory_mb=²",
    ],
)
def test_a_nova_conf_that_cannot_be_read_ends_nothing(node: Node, tuned: Tuned, text: str) -> None:
    tuned.write("/etc/nova/nova.conf", text)
    assert len(rows(node)) == 12


def test_a_bare_machine_is_answered_too(node: Node) -> None:
    found = rows(node)
    assert {row["verdict"] for row in found.values()} <= {"ok", "advice", "unknown"}
    assert "check" in node.action("check-host")["host"].splitlines()[0]


def test_no_advice_reaches_status_or_verify(node: Node, tuned: Tuned) -> None:
    node.converge(reboot_settle=0)
    before = node.emit("update_status")
    tuned.write(f"{CPU}/smt/control", "on\n")
    tuned.write(f"{CPU}/isolated", "\n")
    assert node.emit("update_status") == before
    assert node.action("verify")["verified"] == "true"


def test_hooks_do_not_read_what_the_action_reads(node: Node, tuned: Tuned) -> None:
    node.converge(reboot_settle=0)
    node.host.asked.clear()
    node.emit("update_status")
    assert not [call for call in node.host.asked if "/smt/" in str(call)]
    rows(node)
    assert [call for call in node.host.asked if "/smt/" in str(call)]


def test_the_capture_has_no_secret_of_nova_and_shows_the_same(node: Node, tuned: Tuned) -> None:
    tuned.plug_gpu()
    inputs = {"options": asdict(Options()), "controllers": (), "application": "sriov-switchdev"}
    text = take(node.host, "sriov-switchdev", inputs, capture.show, key=b"0")
    shown = capture.show(read(text).system, read(text).inputs).tables["check-host"]
    assert shown == node.action("check-host")["host"]
    assert "s3cret" not in json.dumps(dict(read(text).content))


@pytest.mark.parametrize("name", [PF0, GPU])
def test_without_a_link_in_sysfs_the_bridges_are_unknown(node: Node, tuned: Tuned, name: str) -> None:
    tuned.plug_gpu()
    for bdf in [PF0, "0000:3b:00.1"] if name == PF0 else [GPU]:
        del node.host.disk.links[f"/sys/bus/pci/devices/{bdf}"]
    assert rows(node)[f"GPUDirect of {GPU}"]["verdict"] == "unknown"
