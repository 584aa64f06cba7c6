# SPDX-License-Identifier: Apache-2.0
"""The test machine itself: what every other functional test relies on."""

import pytest
from lab import site
from lab.guest import Guest, GuestError
from lab.juju.remote import HookError, Unit


@pytest.mark.every_release
def test_boots_the_release_with_systemd_and_nothing_failed(machine: Guest) -> None:
    assert f"VERSION_CODENAME={machine.release.suite}" in machine.read("/etc/os-release")
    assert machine.run("systemctl is-system-running").stdout == "running\n"
    assert machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""


@pytest.mark.every_release
def test_has_the_kernel_modules(machine: Guest) -> None:
    machine.run(["modprobe", "-a", "openvswitch", "bonding", "8021q", "vxlan", "geneve", "rdma_rxe"])


def test_a_command_returns_its_status_and_both_outputs(machine: Guest) -> None:
    done = machine.run("cat; echo wrong >&2; exit 3", stdin="ä\n", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "ä\n", "wrong\n")


def test_a_failed_command_raises_with_its_words(machine: Guest) -> None:
    with pytest.raises(GuestError, match=r"exit status 2: ls /nowhere\n.*No such file"):
        machine.run(["ls", "/nowhere"])


def test_a_command_that_hangs_is_given_up(machine: Guest) -> None:
    with pytest.raises(GuestError, match="still running after 1 s: sleep 60"):
        machine.run(["sleep", "60"], timeout=1)
    assert machine.run(["echo", "answers"]).stdout == "answers\n"


def test_a_snapshot_restores_disk_memory_and_clock(machine: Guest) -> None:
    machine.write("/root/mark", "before")
    machine.save("mark")
    machine.write("/root/mark", "after")
    machine.run("ip link add later type dummy; sleep 5")
    later = float(machine.read("/proc/uptime").split()[0])
    machine.load("mark")
    assert machine.read("/root/mark") == "before"
    assert machine.run("ip link show later", check=False).returncode == 1
    assert float(machine.read("/proc/uptime").split()[0]) < later  # no timer meets a leap


@pytest.mark.thorough
def test_a_power_cycle_is_a_cold_start(machine: Guest) -> None:
    before = machine.boot_id
    machine.power_cycle()
    assert machine.boot_id != before
    assert "mlx5_core.power_cycle=1" in machine.read("/proc/cmdline")


def test_sees_the_projects_code_and_its_python_packages(machine: Guest) -> None:
    path = "/opt/site-packages:/opt/ovn-offload/lib"
    machine.run(f"PYTHONPATH={path} python3 -c 'import ops.testing, pyroute2, converge'")
    assert "ro," in machine.run("findmnt -no OPTIONS /opt/ovn-offload").stdout


TINY = {
    "charmcraft.yaml": """
name: tiny
summary: A few lines
description: A few lines
type: charm
subordinate: true
requires: {host: {interface: juju-info, scope: container}}
peers: {peers: {interface: tiny}}
config: {options: {size: {type: int, default: 1}}}
actions: {show: {params: {word: {type: string}}}, forbidden: {}}
""",
    "src/charm.py": """
import os
import platform
from pathlib import Path
import ops
from hostnic.machine import Machine

class Tiny(ops.CharmBase):
    def __init__(self, framework):
        super().__init__(framework)
        framework.observe(self.on.config_changed, self._configure)
        framework.observe(self.on.update_status, self._reboot)
        framework.observe(self.on.stop, self._fail)
        framework.observe(self.on.show_action, self._show)
        framework.observe(self.on.forbidden_action, self._reboot)

    def _configure(self, event):
        if self.config["size"] > 9:
            self.unit.status = ops.BlockedStatus(f"size: {self.config['size']} is not 1 to 9")
            return
        self.model.get_relation("peers").data[self.unit]["size"] = str(self.config["size"])
        Machine().files.install("/etc/tiny", b"x" * self.config["size"])
        self.unit.status = ops.ActiveStatus()

    def _reboot(self, event):
        self.unit.reboot()

    def _fail(self, event):
        raise RuntimeError("broken on purpose")

    def _show(self, event):
        if "word" not in event.params:
            event.fail("which word?")
            return
        release = platform.freedesktop_os_release()["VERSION_CODENAME"]
        event.set_results({"word": event.params["word"], "release": release, "root": os.getcwd()})

if __name__ == "__main__":
    ops.main(Tiny)
""",
}


@pytest.fixture
def tiny(machine: Guest) -> Unit:
    """A charm of a few lines, deployed."""
    for path, text in TINY.items():
        machine.write(f"/root/tiny/{path}", text)
    return machine.unit("tiny", path="/root/tiny", config={"size": 3})


def test_a_hook_runs_on_the_machine_and_its_writes_are_listed(machine: Guest, tiny: Unit) -> None:
    result = tiny.emit("config_changed")
    assert result.status == ("active", "")
    assert machine.read("/etc/tiny") == "xxx"
    assert [line.split()[:2] for line in result.writes] == [["install", "/etc/tiny"]]
    assert [r["local_unit_data"]["size"] for r in result.relations if r["endpoint"] == "peers"] == ["3"]
    assert not result.reboot_requested


def test_what_the_operator_sets_reaches_the_next_hook(machine: Guest, tiny: Unit) -> None:
    blocked = tiny.emit("config_changed", config={"size": 12})
    assert blocked.status == ("blocked", "size: 12 is not 1 to 9")
    assert tiny.emit("config_changed", config={"size": None}).status == ("active", "")
    assert machine.read("/etc/tiny") == "x"


def test_an_action_sees_the_release_and_returns_results_or_its_failure(machine: Guest, tiny: Unit) -> None:
    shown = tiny.action("show", {"word": "w"})
    home = "/var/lib/juju/agents/unit-tiny-0/charm"
    assert shown.results == {"word": "w", "release": machine.release.suite, "root": home}
    assert tiny.action("show").failure == "which word?"


@pytest.mark.thorough
@pytest.mark.every_release
def test_a_reboot_ends_a_request_keeps_the_disk_and_changes_the_boot_id(machine: Guest, tiny: Unit) -> None:
    before = machine.boot_id
    machine.write("/root/kept", "yes")
    machine.run(["juju-exec", "-u", "tiny/0", "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch"])
    assert tiny.reboot_requested

    machine.reboot()
    assert machine.boot_id != before
    assert machine.read("/root/kept") == "yes"
    assert "power_cycle" not in machine.read("/proc/cmdline")
    assert not tiny.reboot_requested
    assert tiny.emit("config_changed").status == ("active", "")

    machine.load("booted")
    assert machine.boot_id == before


def test_a_charm_that_raises_is_a_failed_hook(tiny: Unit) -> None:
    with pytest.raises(HookError, match="broken on purpose"):
        tiny.emit("stop")
    with pytest.raises(HookError, match="juju-reboot is not supported when running an action"):
        tiny.action("forbidden")


def test_the_site_has_a_lacp_partner_and_is_reachable(machine: Guest) -> None:
    assert site.reachable(machine)
    bond = machine.read(f"/proc/net/bonding/{site.BOND}")
    assert "Number of ports: 2" in bond
    assert "Partner Mac Address: 00:00:00:00:00:00" not in bond
    for bdf, netdev in site.PFS.items():
        assert machine.run(["ls", f"/sys/bus/pci/devices/{bdf}/net"]).stdout.split() == [netdev]
    machine.run("ip link set w0 down; ip link set w1 down")
    assert not site.reachable(machine, seconds=1)
