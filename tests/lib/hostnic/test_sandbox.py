# SPDX-License-Identifier: Apache-2.0
"""The rights of the services on a host: by their declarations, and no service is without any."""

import json
import re
from pathlib import Path

import pytest
from hostnic.boot import sandbox
from hostnic.boot.sandbox import ALL, Does
from rights import name_of, told

ROOT = Path(__file__).resolve().parents[3]

SINCE = {
    **dict.fromkeys(
        ("CapabilityBoundingSet", "InaccessiblePaths", "ReadOnlyPaths", "ReadWritePaths", "UMask"), 231
    ),
    **dict.fromkeys(("NoNewPrivileges", "PrivateDevices", "SystemCallErrorNumber"), 209),
    **dict.fromkeys(("RestrictAddressFamilies", "RuntimeDirectory", "SystemCallArchitectures"), 211),
    **dict.fromkeys(("MemoryDenyWriteExecute", "RestrictRealtime"), 231),
    **dict.fromkeys(("ProtectControlGroups", "ProtectKernelModules", "ProtectKernelTunables"), 232),
    **dict.fromkeys(("ProtectHome", "ProtectSystem"), 232),  # "strict"
    **dict.fromkeys(("RestrictNamespaces", "SystemCallFilter"), 233),  # groups of calls
    **dict.fromkeys(("IPAddressDeny", "LockPersonality", "RuntimeDirectoryPreserve"), 235),
    **dict.fromkeys(("ProtectHostname", "RestrictSUIDSGID"), 242),
    "ProtectKernelLogs": 244,
    "ProtectClock": 245,
}
"""The release of systemd that has each setting as it is used here (its NEWS)."""


def services() -> dict[str, str]:
    """Every service file that a charm of the newest release leaves on a host."""
    found: dict[str, str] = {}
    for recording in sorted(ROOT.glob("tests/unit/*/release_*.json")):
        for left in json.loads(recording.read_text()).values():
            files = left["files"].items()
            found |= {path: text for path, text in files if path.endswith(".service")}
    return found


def settings(*does: Does) -> dict[str, str]:
    parts = (line.partition("=") for line in sandbox.lines(*does) if not line.startswith("#"))
    return {setting: value for setting, _, value in parts}


@pytest.mark.parametrize("path", services())
def test_every_service_of_the_charms_has_limits(path: str) -> None:
    given = dict(
        line.split("=", 1) for line in services()[path].splitlines() if "=" in line and "#" not in line
    )
    droppable = {name for does in Does for name in does.value.without}
    for setting, value, _ in ALL:
        assert given.get(setting) == value or (setting in droppable and setting not in given), setting
    for setting in ("CapabilityBoundingSet", "RestrictAddressFamilies", "SystemCallFilter"):
        assert setting in given


def test_each_line_has_its_reason_above_it() -> None:
    for path, text in services().items():
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if line.partition("=")[0] in SINCE:
                assert lines[number - 1].startswith("# "), f"{path}: {line}"


def test_systemd_run_is_nowhere_without_limits() -> None:
    sources = [*ROOT.glob("lib/**/*.py"), *ROOT.glob("charms/*/src/**/*.py")]
    calls = 0
    for source in sources:
        text = source.read_text()
        for call in re.finditer('"systemd-run"', text):
            calls += 1
            near = text[max(0, call.start() - 300) : call.end() + 400]
            assert "sandbox.properties(" in near, source
    assert calls == 3


def test_every_setting_is_known_to_systemd_249() -> None:
    for setting in settings(*Does):
        assert SINCE[setting] <= 249


def test_a_unit_that_declares_nothing_gets_no_capability_and_no_path() -> None:
    nothing = settings()
    assert nothing["CapabilityBoundingSet"] == ""
    assert nothing["RestrictAddressFamilies"] == "AF_NETLINK"  # systemd-run refuses "none"
    assert "ReadWritePaths" not in nothing
    assert nothing["SystemCallFilter"] == "@system-service"


def test_what_changes_a_port_cannot_speak_to_systemd_nor_read_a_functions_whole_configuration() -> None:
    port = settings(Does.NETLINK, Does.PCI)
    assert port["CapabilityBoundingSet"] == "CAP_NET_ADMIN"
    assert port["RestrictAddressFamilies"] == "AF_NETLINK"
    assert port["ReadWritePaths"] == "/sys/bus/pci /sys/devices"
    assert port["ProtectKernelModules"] == "yes"


def test_only_the_firmwares_tools_get_sys_admin_and_tmp_where_their_locks_are() -> None:
    having = [does for does in Does if "CAP_SYS_ADMIN" in does.value.capabilities]
    assert having == [Does.FIRMWARE]
    firmware = settings(Does.FIRMWARE)
    assert "-/tmp" in firmware["ReadWritePaths"].split()
    assert "InaccessiblePaths" not in firmware


def test_the_dispatcher_has_no_capability() -> None:
    dispatcher = settings(Does.WAKES_JUJU, Does.STARTS_UNITS, Does.REMOVES_UNITS)
    assert dispatcher["CapabilityBoundingSet"] == ""
    assert dispatcher["RestrictAddressFamilies"] == "AF_UNIX"


def test_systemd_run_gets_the_same_as_a_unit_file() -> None:
    for does in Does:
        assert [f"--property={name}={value}" for name, value in settings(does).items()] == (
            sandbox.properties(does)
        )


def test_security_names_the_capabilities_of_each_service() -> None:
    for path, text in services().items():
        (given,) = re.findall(r"^CapabilityBoundingSet=(.*)$", text, re.MULTILINE)
        assert told()[name_of(Path(path).name)].capabilities == set(given.split()), path


def test_security_names_each_service_and_how_long_it_may_take_at_boot() -> None:
    security = " ".join((ROOT / "SECURITY.md").read_text().split())
    limits: dict[str, str] = {}
    for path, text in services().items():
        name = Path(path).name
        assert f"`{re.sub('ovn-offload-.*-dispatch', 'ovn-offload-CHARM-dispatch', name)}`" in security, name
        limits |= dict.fromkeys([name], *re.findall(r"^TimeoutStartSec=(\d+)$", text, re.MULTILINE))
    roce, again = (limits[f"ovn-offload-roce-qos{each}.service"] for each in ("", "-again"))
    gpudirect = (ROOT / "charms/nic-firmware/src/boot/files.py").read_text()
    (gpu,) = re.findall(r"^TimeoutStartSec=(\d+)$", gpudirect, re.MULTILINE)
    assert roce == again
    assert f"those of roce-qos after {roce} s, that of GPUDirect after {gpu} s" in security
