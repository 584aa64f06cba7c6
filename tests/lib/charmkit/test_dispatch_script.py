# SPDX-License-Identifier: Apache-2.0
"""The services that wake a unit: their real commands, run below a scratch directory.

Around them, juju-exec, systemctl and sleep are small stand-ins that note how they are called.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from charmkit.dispatch.dispatcher import Dispatcher
from hostnic import handover
from hostnic.boot import units
from hostnic.handover import Handover
from lab.modelled import FakeHost

NAME = "ovn-offload-roce-qos-dispatch"
HANDOVER = "/run/ovn-offload/roce-qos.json"
FAILED = "/run/ovn-offload/roce-qos.dispatch-failed"
AGENT = "/var/lib/juju/agents/unit-roce-qos-2"
PREFIXES = (
    "/var/lib/juju",
    "/run/ovn-offload",
    "/usr/lib/ovn-offload",
    "/etc/systemd/system",
    "/usr/bin/juju-exec",
)
NOTE = 'echo "${{0##*/}} $*" >>{root}/log\n'
JUJU_EXEC = """#!/bin/sh
echo "juju-exec $*" >>{root}/log
if [ ! -d "{root}/var/lib/juju/agents/unit-$(echo "$2" | tr / -)" ]; then
    echo "ERROR unit \\"$2\\" not found on this machine" >&2
    exit 1
fi
[ ! -f {root}/down ] || {{ cat {root}/down >&2; exit 1; }}
"""


class Host:
    """Files of a unit, installed as the charm does, and the commands of its services."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("systemctl", "sleep"):
            self.tool(f"bin/{name}", "#!/bin/sh\n" + NOTE.format(root=root))
        self.tool("usr/bin/juju-exec", JUJU_EXEC.format(root=root))
        (root / "log").touch()
        self.deploy("roce-qos/2")

    def tool(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o755)

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def here(self, text: str) -> str:
        for prefix in PREFIXES:
            text = text.replace(prefix, f"{self.root}{prefix}")
        return text

    def deploy(self, unit: str) -> None:
        """Leave on the machine what a unit's hook leaves, its agent included."""
        modelled = FakeHost()
        Dispatcher(modelled, unit, "roce-qos", ["sriov-switchdev", "nic-firmware"]).install()
        handover.publish(modelled, Handover("roce-qos", unit, "sriov-switchdev"))
        for path, content in modelled.disk.content.items():
            if path.startswith(PREFIXES):
                self.path(path).parent.mkdir(parents=True, exist_ok=True)
                self.path(path).write_text(self.here(content.decode()))
        agent = self.path(f"/var/lib/juju/agents/unit-{unit.replace('/', '-')}")
        agent.mkdir(parents=True)
        (agent / "agent.conf").write_text("# format 2.0\n")

    def remove_agent(self, unit: str = "roce-qos-2") -> None:
        agent = self.path(f"/var/lib/juju/agents/unit-{unit}")
        (agent / "agent.conf").unlink()
        agent.rmdir()

    def after_sleeping(self, times: int, command: str) -> None:
        """Have something happen during that sleep of the script."""
        when = f"[ $(grep -c ^sleep {self.root}/log) -ne {times} ] || {command}\n"
        self.tool("bin/sleep", "#!/bin/sh\n" + NOTE.format(root=self.root) + when)

    def start(self, service: str = f"{NAME}.service", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run the service's command, as systemd does when nothing keeps it from starting."""
        lines = (text or self.path(units.path(service)).read_text()).splitlines()
        (command,) = [line.partition("=")[2] for line in lines if line.startswith("ExecStart=")]
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run(
            shlex.split(command), env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    @property
    def log(self) -> list[str]:
        return (self.root / "log").read_text().splitlines()

    @property
    def left(self) -> list[str]:
        """All files of the charm."""
        return sorted(
            str(path.relative_to(self.root)) for path in self.root.rglob("*roce-qos*") if path.is_file()
        )


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


EXEC = "juju-exec -u roce-qos/2 JUJU_DISPATCH_PATH=hooks/update-status ./dispatch"


def test_the_service_has_juju_dispatch_update_status(host: Host):
    done = host.start()

    assert (done.returncode, host.log) == (0, [EXEC])


def test_an_agent_that_comes_up_late_is_tried_again(host: Host):
    (host.root / "down").write_text("ERROR connection refused\n")
    host.after_sleeping(3, f"rm {host.root}/down")

    done = host.start()

    assert (done.returncode, host.log) == (0, [*[EXEC, "sleep 30"] * 3, EXEC])
    assert not host.path(FAILED).exists()


def test_the_directory_of_the_reason_can_be_read_under_any_umask(host: Host):
    (host.root / "down").write_text("ERROR connection refused\n")
    directory = host.path(FAILED).parent
    shutil.rmtree(directory)
    before = os.umask(0o077)
    try:
        host.start()
    finally:
        os.umask(before)
    assert directory.stat().st_mode & 0o777 == 0o755
    assert host.path(FAILED).stat().st_mode & 0o777 == 0o600


def test_an_agent_that_never_answers_is_not_tried_for_ever(host: Host):
    (host.root / "down").write_text("WARNING odd\nERROR dial unix run.socket: connection refused\n")

    done = host.start()

    assert (done.returncode, host.log) == (1, [*[EXEC, "sleep 30"] * 19, EXEC])
    assert "juju-exec failed 20 times, 30 s apart; giving up" in done.stdout
    assert host.path(FAILED).read_text() == "ERROR dial unix run.socket: connection refused\n"
    assert host.path(FAILED).stat().st_mode & 0o777 == 0o600
    assert host.path(HANDOVER).exists()


def test_the_reason_is_not_written_through_a_link(host: Host):
    (host.root / "down").write_text("ERROR connection refused\n")
    theirs = host.root / "theirs"
    theirs.touch()
    host.after_sleeping(19, f"ln -s {theirs} {host.path(FAILED)}")

    host.start()

    assert theirs.read_text() == ""
    assert host.path(FAILED).read_text() == "ERROR connection refused\n"
    assert not host.path(FAILED).is_symlink()


def test_what_was_told_of_a_failure_goes_with_the_next_attempt(host: Host):
    host.path(FAILED).write_text("ERROR connection refused\n")

    assert host.start().returncode == 0
    assert not host.path(FAILED).exists()


def test_a_unit_that_is_gone_is_not_dispatched_and_what_wakes_it_removes_itself(host: Host):
    host.remove_agent()

    done = host.start()

    assert (done.returncode, host.left) == (0, [])
    watchers = " ".join(f"{NAME}-{each}.path" for each in ("agent", "sriov-switchdev", "nic-firmware"))
    assert host.log == [
        f"systemctl stop {watchers}",
        f"systemctl stop {NAME}-later.timer",
        f"systemctl disable --no-reload {watchers}",
        "systemctl daemon-reload",
    ]
    assert "Juju has removed roce-qos/2 without its stop hook" in done.stdout
    assert "what roce-qos installed for the next boot stays" in done.stdout


@pytest.mark.parametrize("others", [[], ["nic-firmware"]])
def test_its_exporter_goes_too_or_another_charms_takes_over(host: Host, others: list[str]):
    for charm in ("roce-qos", *others):
        for name in ("exporter.pyz", "exporter.stamp", "exporter.address"):
            host.tool(f"usr/lib/ovn-offload/{charm}/{name}", "")
    host.tool("etc/systemd/system/ovn-offload-exporter.service", "")
    host.tool("run/ovn-offload/facts/roce-qos.json", "{}")
    host.remove_agent()

    assert host.start().returncode == 0
    assert not host.path("/usr/lib/ovn-offload/roce-qos").exists()
    assert not host.path("/run/ovn-offload/facts/roce-qos.json").exists()
    unit = host.path("/etc/systemd/system/ovn-offload-exporter.service")
    assert unit.exists() == bool(others)
    verb = "try-restart" if others else "disable --now"
    assert f"systemctl {verb} ovn-offload-exporter.service" in host.log


def test_its_boot_copy_stays(host: Host):
    host.tool("usr/lib/ovn-offload/roce-qos/boot.pyz", "")
    host.tool("usr/lib/ovn-offload/roce-qos/exporter.pyz", "")
    host.remove_agent()

    assert host.start().returncode == 0
    assert [path.name for path in host.path("/usr/lib/ovn-offload/roce-qos").iterdir()] == ["boot.pyz"]


def test_a_unit_that_was_removed_while_the_machine_was_down_is_seen_at_the_boot(host: Host):
    """systemd skips the service while agent.conf is there."""
    watcher = host.path(units.path(f"{NAME}-agent.path")).read_text()
    assert f"Wants={NAME}-agent.service\n" in watcher
    assert "WantedBy=multi-user.target\n" in watcher


def test_a_unit_that_goes_between_two_attempts_is_not_a_failure(host: Host):
    (host.root / "down").write_text("ERROR connection refused\n")
    host.after_sleeping(1, f"rm -r {host.path(AGENT)}")

    done = host.start()

    assert (done.returncode, host.left) == (0, [])
    assert host.log[:2] == [EXEC, "sleep 30"]
    assert host.log.count(EXEC) == 1


def test_the_agent_that_juju_deletes_ends_it_without_any_other_charm(host: Host):
    """agent.conf goes first; what starts this service is that it went, and the rest takes its time."""
    (host.path(AGENT) / "agent.conf").unlink()
    host.after_sleeping(3, f"rmdir {host.path(AGENT)}")

    done = host.start(f"{NAME}-agent.service")

    assert (done.returncode, host.left) == (0, [])
    assert host.log[:3] == ["sleep 1"] * 3


def test_an_agents_directory_that_stays_keeps_everything(host: Host):
    (host.path(AGENT) / "agent.conf").unlink()
    before = host.left

    done = host.start(f"{NAME}-agent.service")

    assert (done.returncode, host.left) == (0, before)
    assert host.log == ["sleep 1"] * 60


def test_the_removal_waits_for_agent_conf_to_go(host: Host):
    lines = host.path(units.path(f"{NAME}-agent.service")).read_text().splitlines()
    assert f"ConditionPathExists=!{host.root}{AGENT}/agent.conf" in lines
    lines = host.path(units.path(f"{NAME}-agent.path")).read_text().splitlines()
    assert f"PathChanged={host.root}{AGENT}/agent.conf" in lines
    assert f"Unit={NAME}-agent.service" in lines


def test_a_newer_unit_of_the_charm_keeps_its_units_and_its_handover(host: Host):
    """The service of roce-qos/2 is still between two attempts when roce-qos/3 has run its first hook."""
    script = host.path("/usr/lib/ovn-offload/roce-qos-dispatch.sh")
    old = host.path("/old.sh")
    old.write_text(script.read_text())
    host.remove_agent()
    host.deploy("roce-qos/3")
    before = {path: host.path(path).read_text() for path in host.left}

    done = host.start(text=f"ExecStart=/bin/sh {old} dispatch")

    assert (done.returncode, host.log) == (0, [])
    assert {path: host.path(path).read_text() for path in host.left} == before


def test_a_handover_file_of_a_newer_unit_stays_where_only_the_units_are_old(host: Host):
    newer = host.path(HANDOVER).read_text().replace("roce-qos/2", "roce-qos/3")
    host.path(HANDOVER).write_text(newer)
    host.remove_agent()

    assert host.start().returncode == 0
    assert host.left == [HANDOVER.lstrip("/")]


@pytest.mark.parametrize("service", [f"{NAME}.service", f"{NAME}-agent.service"])
def test_after_the_stop_hook_there_is_nothing_left_to_do(host: Host, service: str):
    """The service that waited for the machine lock meanwhile finds neither its unit nor its files."""
    script = host.path("/old.sh")
    script.write_text(host.path("/usr/lib/ovn-offload/roce-qos-dispatch.sh").read_text())
    verb = "dispatch" if service == f"{NAME}.service" else "removed"
    host.remove_agent()
    for path in host.left:
        host.path(path).unlink()

    done = host.start(text=f"ExecStart=/bin/sh {script} {verb}")

    assert (done.returncode, done.stdout, host.log) == (0, "", [])
