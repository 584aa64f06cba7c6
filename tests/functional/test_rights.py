# SPDX-License-Identifier: Apache-2.0
"""The limits of the services on a host, as systemd understands them: exposure, and what they keep out."""

import re

import pytest
from functional.once import once
from hostnic.boot import sandbox
from hostnic.boot.sandbox import Does
from lab.guest import Completed, Guest
from rights import name_of, told

MOST = 3.0
"""The highest exposure that a service may have, by systemd-analyze security (10 is the worst)."""

ROUNDED = 0.11
"""How much another systemd than Debian's, which SECURITY.md's table has, rounds up or down."""

SINCE_244 = (
    "ProtectKernelLogs",
    "ProtectClock",
    "ProtectProc",
    "ProcSubset",
    "CapabilityBoundingSet_CAP_BPF",
)
"""The additions of systemd 244 to 247 to the table; nothing was added from 247 to 252."""

CHARMS = {
    "sriov-switchdev": {
        "num-vfs": 2,
        "reboot-policy": "always",
        "reboot-settle": 0,
        "follow-uplink": True,
    },
    "roce-qos": {},
    "nic-firmware": {"profile": "gpudirect"},
}
TRANSIENT = {
    "sriov-revert": (Does.NETLINK, Does.PCI, Does.SEES_PROCESSES, Does.STARTS_UNITS),
    "burn": (Does.FIRMWARE,),
    "dispatch-later": (Does.STARTS_UNITS,),
}

START = ["env", "SYSTEMD_BUS_TIMEOUT=infinity", "systemd-run", "--quiet"]
"""Starts a transient unit. By itself systemd-run gives up after 25 s, however busy the machine is; here the
guest's own limit holds."""


@pytest.fixture
def node(machine: Guest) -> Guest:
    """All three charms of a host, with their files in place."""

    def make() -> Guest:
        for app, config in CHARMS.items():
            machine.unit(app, config=config).start()
        for name, does in TRANSIENT.items():
            command = [*START, f"--unit=ovn-offload-transient-{name}.service"]
            machine.run([*command, "--property=RemainAfterExit=yes", *sandbox.properties(*does), "true"])
        return machine

    return once(machine, "rights", make)


def limited(machine: Guest, command: str, *does: Does) -> Completed:
    """Run a command of the shell as a unit that declares this."""
    start = [*START, "--wait", "--pipe", *sandbox.properties(*does)]
    return machine.run([*start, "sh", "-c", command], check=False)


def exposures(node: Guest, *arguments: str) -> dict[str, float]:
    """The exposure of each unit that systemd has, as systemd-analyze prints it."""
    names = node.run("systemctl list-units --all --plain --no-legend 'ovn-offload-*.service' | cut -d' ' -f1")
    files = node.run("cd /etc/systemd/system && ls ovn-offload-*.service").stdout.split()
    found: dict[str, float] = {}
    for name in sorted({*names.stdout.split(), *files}):
        said = node.run(["systemd-analyze", "security", "--no-pager", *arguments, name], check=False).stdout
        found[name] = float(re.findall(r"exposure level for \S+: ([0-9.]+)", said)[0])
    return found


@pytest.mark.every_release
def test_each_service_is_exposed_as_security_says_and_no_more_than_the_limit(node: Guest) -> None:
    found = exposures(node)
    print("\n".join(f"{value:4} {name}" for name, value in found.items()))
    assert len(found) == 14 + len(TRANSIENT)
    assert max(found.values()) <= MOST, found
    shown = {unit: told()[name_of(unit)].exposure for unit in found}
    assert found == pytest.approx(shown, abs=ROUNDED)


@pytest.mark.every_release
def test_nor_by_the_older_tables_on_files_alone(node: Guest) -> None:
    """systemd 249 has this release's table. Without what came since 244, it is that of 243.

    It reads files alone since systemd 250.
    """
    if node.release.systemd < 250:
        pytest.skip("the test before this one has asked this systemd of the units that it has loaded")
    weights = ", ".join(f'"{name}": {{"weight": 0}}' for name in SINCE_244)
    node.write("/root/policy.json", f"{{{weights}}}")
    files = node.run("ls /etc/systemd/system/ovn-offload-*.service").stdout.split()
    for policy in ([], ["--security-policy=/root/policy.json"]):
        offline = [
            "systemd-analyze",
            "security",
            "--no-pager",
            "--offline=true",
            f"--threshold={MOST * 10:.0f}",
        ]
        said = node.run([*offline, *policy, *files], check=False)
        assert said.returncode == 0, said.stdout[-3000:] + said.stderr


@pytest.mark.every_release
def test_systemd_understands_every_line(node: Guest) -> None:
    said = node.run("systemd-analyze verify /etc/systemd/system/ovn-offload-*.service", check=False).stderr
    assert "ovn-offload" not in said, said


@pytest.mark.every_release
def test_a_unit_that_changes_ports_reaches_nothing_else(machine: Guest) -> None:
    does = (Does.NETLINK, Does.PCI)
    reached = limited(machine, "ip link set lo down && ip link set lo up && touch /run/ovn-offload/x", *does)
    assert (reached.returncode, reached.stderr) == (0, "")
    attribute = "/sys/bus/pci/devices/0000:3b:00.0/sriov_drivers_autoprobe"
    assert limited(machine, f"echo 1 >{attribute}", *does).returncode == 0
    for refused in (
        "touch /etc/x",
        "touch /usr/lib/x",
        "touch /run/x",
        "touch /tmp/x",
        "echo 0 >/proc/sys/kernel/randomize_va_space",
        "echo 100 >/sys/kernel/mm/ksm/pages_to_scan",
        "systemctl stop systemd-networkd",
        "systemd-run true",
        "mount -t tmpfs x /mnt",
        "unshare --net true",
        "modprobe dummy",
        "ping -c1 127.0.0.1",
        "ls /root/.",
        "ls /tmp/.",
        "hostname x",
        "date -s @1",
        "head -c1 /dev/vda",
    ):
        assert limited(machine, refused, *does).returncode != 0, refused
    attribute = "/sys/devices/virtual/net/lo/mtu"
    assert limited(machine, f"cat {attribute} >{attribute}", Does.STARTS_UNITS).returncode != 0


@pytest.mark.every_release
def test_a_unit_that_sets_rdma_loads_its_module_and_starts_units(machine: Guest) -> None:
    does = (Does.NETLINK, Does.RDMA, Does.STARTS_UNITS)
    command = "modprobe -r rdma_cm; modprobe rdma_cm && systemctl --no-block start systemd-networkd"
    done = limited(machine, command, *does)
    assert done.returncode == 0, done.stderr
    assert "rdma_cm" in machine.run("lsmod").stdout


@pytest.mark.every_release
def test_the_firmwares_tools_work_within_their_limits(machine: Guest) -> None:
    """The distribution's own mstconfig and setpci; their locks are where every other mstconfig's are."""
    bdf = "0000:3b:00.0"
    asked = limited(machine, f"mstconfig -d {bdf} q && setpci -s {bdf} CAP_EXP+08.w", Does.FIRMWARE)
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert "NUM_OF_VFS" in asked.stdout
    assert limited(machine, "touch /etc/x", Does.FIRMWARE).returncode != 0
    assert limited(machine, "ip link set lo down", Does.FIRMWARE).returncode != 0


@pytest.mark.every_release
def test_gpudirects_unit_sets_a_register(node: Guest) -> None:
    # A hook of nic-firmware sets the register as well. None is woken any more, and those that were are
    # waited for: a hook goes on when the service that asked Juju for it is stopped.
    node.run("systemctl stop 'ovn-offload-*-dispatch*.path'")
    jobs = "systemctl list-jobs --plain --no-legend 'ovn-offload-*'"
    assert node.until(lambda: not node.run(jobs).stdout, limit=300)
    register = "setpci -s 0000:3b:00.0 CAP_EXP+08.w"
    before = node.run(register).stdout
    node.run(f"{register}=2000:f000 && systemctl daemon-reload")
    assert node.run(register).stdout != before
    node.run("systemctl start ovn-offload-gpudirect.service", timeout=120)
    assert node.run(register).stdout == before
