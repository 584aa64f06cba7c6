# SPDX-License-Identifier: Apache-2.0
"""The udev rule that keeps the name of an uplink."""

import fnmatch
import re

import desired
import pytest
from boot import files
from unit.sriov_switchdev.node import PF0, PF1

MAC = "b8:3f:d2:00:00:00"


def test_the_name_rule_is_for_names_that_udev_takes() -> None:
    wanted = desired.Desired((desired.WantedPort(PF0, "enp59s0f0", 8), desired.WantedPort(PF1, 'x" y', 8)))
    kept = [line.partition("ATTR{phys_port_name}==")[2] for line in files.rules(wanted).splitlines()]
    assert [*filter(None, kept)] == ['"p[0-9]*", ENV{.OVN_OFFLOAD_NAME}="enp59s0f0"']


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({}, "kept"),
        ({"address": "b8:3f:d2:00:00:01"}, None),
        # What a bond gives a member is no permanent address.
        ({"address": "b8:3f:d2:00:00:01", "addr_assign_type": "3"}, "kept"),
        ({"address": "b8:3f:d2:00:00:01", "addr_assign_type": "1", "phys_port_name": "pf0vf0"}, None),
    ],
)
def test_the_name_rule_gives_another_card_no_name(attributes: dict[str, str], name: str | None) -> None:
    wanted = desired.Desired(
        (desired.WantedPort(PF0, "kept", 8, mac=MAC), desired.WantedPort(PF1, "other", 8, mac=MAC))
    )
    event = uplink(**{f"ATTR{{{key}}}": value for key, value in attributes.items()})
    assert named_by_udev(files.rules(wanted), event) == name


@pytest.mark.parametrize(
    ("link", "name"),
    [
        # The distribution's: /lib is the same as /usr/lib on most releases.
        (("/usr/lib/systemd/network/99-default.link", "enp59s0f0np0"), "kept"),
        (("/lib/systemd/network/99-default.link", "enp59s0f0np0"), "kept"),
        # An operator's file, netplan's for set-name, and an operator's own default
        (("/etc/systemd/network/10-storage.link", "storage0"), None),
        (("/run/systemd/network/10-netplan-rail0.link", "rail0"), None),
        (("/etc/systemd/network/99-default.link", "enx1070fd3b0000"), None),
        (("/usr/local/lib/systemd/network/10-storage.link", "storage0"), None),
        # Without Name= and NamePolicy= net_setup_link says the name that the netdev has.
        (("/run/systemd/network/10-netplan-enp59s0f0np0.link", "eth2"), "kept"),
        (("/run/systemd/network/10-netplan-enp59s0f0np0.link", "enp59s0f0np0"), None),
        # No file matches: a host without systemd's own
        (("", ""), "kept"),
    ],
)
def test_the_name_rule_leaves_a_name_by_a_link_file_of_the_site_alone(
    link: tuple[str, str], name: str | None
) -> None:
    wanted = desired.Desired((desired.WantedPort(PF0, "kept", 8, mac=MAC),))
    assert named_by_udev(files.rules(wanted), uplink(), link) == name


def test_the_name_rule_leaves_a_name_by_an_earlier_rule_alone() -> None:
    wanted = desired.Desired((desired.WantedPort(PF0, "kept", 8, mac=MAC),))
    assert named_by_udev(files.rules(wanted), uplink(NAME="storage0")) == "storage0"


def test_no_other_device_is_looked_at() -> None:
    wanted = desired.Desired((desired.WantedPort(PF0, "kept", 8, mac=MAC),))
    for other in (uplink(KERNELS="0000:5e:00.0"), uplink(SUBSYSTEM="pci"), uplink(ACTION="change")):
        assert named_by_udev(files.rules(wanted), other) is None
        assert "ENV{ID_NET_LINK_FILE}" not in other, "the builtin did not run"


def uplink(**more: str) -> dict[str, str]:
    """The uevent of a new uplink."""
    event = {"SUBSYSTEM": "net", "ACTION": "add", "KERNELS": PF0, "ATTR{phys_port_name}": "p0"}
    return {**event, "ATTR{address}": MAC, "ATTR{addr_assign_type}": "0", **more}


LINK = ("/usr/lib/systemd/network/99-default.link", "enp59s0f0np0")
"""net_setup_link's answer for a port that only systemd's own file matches: that file, and the port's name."""


def named_by_udev(rules: str, event: dict[str, str], link: tuple[str, str] = LINK) -> str | None:
    """Apply rules as udev(7) does: return the name of the last line whose conditions all hold.

    ``link`` is what the builtin net_setup_link says.
    """
    skip = ""
    for line in rules.splitlines():
        keys = re.findall(r'([A-Z]+(?:\{[.\w]+\})?)(==|!=|\+=|=)"([^"]*)"', line)
        if skip and ("LABEL", "=", skip) not in keys:
            continue
        skip = ""
        if not all(
            any(fnmatch.fnmatchcase(event.get(key, ""), one) for one in value.split("|"))
            == (operator == "==")
            for key, operator, value in keys
            if operator in ("==", "!=")
        ):
            continue
        for key, operator, value in keys:
            if (key, value) == ("IMPORT{builtin}", "net_setup_link"):
                names = ("ENV{ID_NET_LINK_FILE}", "ENV{ID_NET_NAME}")
                event.update({name: said for name, said in zip(names, link, strict=True) if said})
            elif key == "GOTO":
                skip = value
            elif operator == "=" and key != "LABEL":
                event[key] = re.sub(r"\$env\{([.\w]+)\}", lambda found: event[f"ENV{{{found[1]}}}"], value)
    return event.get("NAME")
