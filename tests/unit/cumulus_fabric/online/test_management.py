# SPDX-License-Identifier: Apache-2.0
"""Switches are reached at IPv6 addresses, and where their REST API listens at another port."""

from pathlib import Path
from typing import Any

import online
import pytest
from audit import audit
from converge.shape import InvalidValue
from intent.model import Fabric
from lab.nvue import Certificate, Server, Switch
from rest.connection import Access, Credentials, SwitchError
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import PASSWORD, USER
from unit.cumulus_fabric.online.unit import managed
from yamlfile.values import FileError


def at(**given: Any) -> Fabric:
    """The small fabric, whose leaves are managed so."""

    def change(content: dict[str, Any]) -> None:
        managed(content)
        content["leaves"] |= {key.replace("_", "-"): value for key, value in given.items()}

    return fabric(change=change)


def managements(found: Fabric) -> list[tuple[str, int]]:
    return [(each.management, each.api_port) for each in found.switches if each.name.startswith("Leaf")]


def test_ipv6_addresses_count_up_and_the_port_is_nvues_own() -> None:
    assert managements(at(management="2001:DB8::ff")) == [("2001:db8::ff", 8765), ("2001:db8::100", 8765)]


def test_one_switch_may_be_elsewhere() -> None:
    def change(content: dict[str, Any]) -> None:
        managed(content)
        content["leaves"]["api-port"] = 443
        content["switches"] = {"Leaf0-2": {"management": "2001:0db8::5", "api-port": 8443}}

    assert managements(fabric(change=change)) == [("192.0.2.11", 443), ("2001:db8::5", 8443)]


@pytest.mark.parametrize("wrong", ["2001:db8", "2001:db8:::1", "fe80::1%eth0", "192.0.2.300", "leaf"])
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises((InvalidValue, FileError), match="an address such as"):
        at(management=wrong)


def test_one_address_twice_is_found_in_whatever_spelling_unless_the_ports_differ() -> None:
    def change(content: dict[str, Any]) -> None:
        managed(content)
        content["switches"] = {
            "Leaf0-1": {"management": "2001:db8::5"},
            "Leaf0-2": {"management": "2001:DB8:0::5"},
        }

    said = [each.what for each in audit(fabric(change=change))]
    assert "2001:db8::5 is both Leaf0-1's management and Leaf0-2's management" in said

    def forwarded(content: dict[str, Any]) -> None:
        change(content)
        content["switches"]["Leaf0-2"]["api-port"] = 8766

    assert not [each for each in audit(fabric(change=forwarded)) if "is both" in each.what]


def test_a_switch_answers_at_an_ipv6_address_and_another_port(tmp_path: Path) -> None:
    certificate = Certificate.make(tmp_path, names=("IP:::1",))
    with Server(Switch("leaf"), certificate, address="::1", user=USER, password=PASSWORD) as server:
        found = at(management="::1", api_port=server.port)
        access = Access(Credentials(USER, PASSWORD), ca=certificate.pem)
        leaf = online.fleet(found, access, 1).switches["Leaf0-1"]
        assert leaf.get("/system")["hostname"] == "leaf"
        assert len(leaf.fingerprint()) == 64
        leaf.close()


def test_what_is_said_of_it_has_brackets_and_no_proxy_gets_it() -> None:
    found = at(management="::1", api_port=1)
    leaf = online.fleet(found, Access(Credentials(USER, PASSWORD)), 1).switches["Leaf0-1"]
    with pytest.raises(SwitchError, match=r"^\[::1\]:1: "):
        leaf.get("/system")
    access = Access(Credentials(USER, PASSWORD), proxy="http://192.0.2.9:3128")
    leaf = online.fleet(found, access, 1).switches["Leaf0-1"]
    with pytest.raises(SwitchError, match="::1: an IPv6 address is not reached through a proxy"):
        leaf.get("/system")


def test_what_is_no_port_is_refused() -> None:
    with pytest.raises((InvalidValue, FileError), match="api-port: 0 is not allowed; expected a TCP port"):
        at(api_port=0)
