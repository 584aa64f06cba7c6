# SPDX-License-Identifier: Apache-2.0
"""The test machine itself: what every other functional test relies on."""

import pytest
from lab.guest import Guest, GuestError


def test_boots_the_release_with_systemd_and_nothing_failed(machine: Guest) -> None:
    assert f"VERSION_CODENAME={machine.release.name}" in machine.read("/etc/os-release")
    assert machine.run("systemctl is-system-running").stdout == "running\n"
    assert machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""


@pytest.mark.parametrize("module", ["openvswitch", "bonding", "8021q", "vxlan", "geneve", "rdma_rxe"])
def test_has_the_kernel_module(machine: Guest, module: str) -> None:
    machine.run(["modprobe", module])


def test_a_command_returns_its_status_and_both_outputs(machine: Guest) -> None:
    done = machine.run("cat; echo wrong >&2; exit 3", stdin="ä\n", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "ä\n", "wrong\n")


def test_a_failed_command_raises_with_its_words(machine: Guest) -> None:
    with pytest.raises(GuestError, match="exit status 2: ls /nowhere\n.*No such file"):
        machine.run(["ls", "/nowhere"])


def test_a_command_that_hangs_is_given_up(machine: Guest) -> None:
    with pytest.raises(GuestError, match="still running after 1 s: sleep 60"):
        machine.run(["sleep", "60"], timeout=1)
    assert machine.run(["echo", "answers"]).stdout == "answers\n"


def test_a_snapshot_restores_disk_and_memory(machine: Guest) -> None:
    machine.write("/root/mark", "before")
    machine.save("mark")
    machine.write("/root/mark", "after")
    machine.run("ip link add later type dummy")
    machine.load("mark")
    assert machine.read("/root/mark") == "before"
    assert machine.run("ip link show later", check=False).returncode == 1


def test_a_reboot_keeps_the_disk_and_changes_the_boot_id(machine: Guest) -> None:
    before = machine.boot_id
    machine.write("/root/kept", "yes")
    machine.reboot()
    assert machine.boot_id != before
    assert machine.read("/root/kept") == "yes"
    assert "power_cycle" not in machine.read("/proc/cmdline")
    machine.load("booted")
    assert machine.boot_id == before


def test_a_power_cycle_is_a_cold_start(machine: Guest) -> None:
    before = machine.boot_id
    machine.power_cycle()
    assert machine.boot_id != before
    assert "mlx5_core.power_cycle=1" in machine.read("/proc/cmdline")


def test_sees_the_projects_code_and_its_python_packages(machine: Guest) -> None:
    machine.run(
        "PYTHONPATH=/opt/site-packages:/opt/ovn-offload/lib python3 -c 'import ops.testing, pyroute2, converge'"
    )
    assert "ro," in machine.run("findmnt -no OPTIONS /opt/ovn-offload").stdout
