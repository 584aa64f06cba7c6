# SPDX-License-Identifier: Apache-2.0
"""A switch fetches, installs and boots an image as NVUE does it, and refuses what NVUE refuses."""

import base64
import json
from typing import Any

import pytest
from lab.nvue import Rest, SimulatedTime, Switch
from lab.nvue.caller import APPLY

URL = "http://192.0.2.1/cumulus-linux-5.16.0-mlx-amd64.bin"
NAME = URL.rpartition("/")[2]


class Client:
    """Sends what a test says to a switch without sockets."""

    def __init__(self, release: str) -> None:
        self.clock = SimulatedTime()
        self.switch = Switch("leaf", release=release, clock=self.clock)
        self.switch.images.server = {URL: "5.16.0"}
        self.rest = Rest(self.switch)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        token = base64.b64encode(b"cumulus:CumulusLinux!").decode()
        content = b"" if body is None else json.dumps(body).encode()
        reply = self.rest.serve(method, f"/nvue_v1{path}", f"Basic {token}", content)
        return reply.status, json.loads(reply.content) if reply.content else reply.trouble

    def act(self, path: str, action: str, **parameters: Any) -> tuple[int, Any]:
        """Start an action, and wait until it has ended; the status, and how it ended."""
        body = {f"@{action}": {"state": "start", "parameters": parameters}}
        status, number = self("POST", path, body)
        if status != 200:
            return status, number["detail"]
        self.clock.sleep(600)
        return status, self("GET", f"/action/{number}")[1]


@pytest.fixture
def client() -> Client:
    return Client("5.12.1")


def upgraded(client: Client) -> None:
    assert client.act("/system/image", "fetch", **{"remote-url": URL})[1]["state"] == "action_success"
    assert client.act(f"/system/image/files/{NAME}", "install", force=True)[1]["state"] == "action_success"
    assert client.act("/system/image", "boot-next", partition="other")[1]["state"] == "action_success"
    client.act("/system", "reboot", **{"no-confirm": True})


def test_the_other_partition_boots_and_the_configuration_is_translated(client: Client) -> None:
    client.switch.revisions[client.switch.applied_id].tree["evpn"] = {"enable": "on"}
    upgraded(client)
    shown = client("GET", "/system/image?rev=operational")[1]
    assert (shown["current"], shown["partition1"]["release"], shown["partition2"]["release"]) == (
        "2",
        "5.12.1",
        "5.16.0",
    )
    tree = client("GET", "/?rev=applied&filled=false")[1]
    assert (tree["evpn"], tree["interface"]["eth0"]["vrf"]) == ({"state": "enabled"}, "mgmt")
    assert client.switch.rules.refuse(tree) == ""
    assert len(client.switch.revisions) == 1


def test_an_action_answers_with_its_number_and_has_a_state(client: Client) -> None:
    body = {"@fetch": {"state": "start", "parameters": {"remote-url": URL}}}
    assert client("POST", "/system/image", body) == (200, 1)
    assert client("GET", "/action/1")[1]["state"] == "running"
    assert client("POST", "/system/image", body)[0] == 409
    assert client("GET", "/action/7")[0] == 404


def test_nobody_answers_while_it_boots(client: Client) -> None:
    client("POST", "/system", {"@reboot": {"state": "start", "parameters": {"no-confirm": True}}})
    client.clock.sleep(1)
    assert client("GET", "/system") == (0, "reset")
    client.clock.sleep(client.switch.images.boots)
    assert client("GET", "/system")[0] == 200


def test_a_reboot_of_the_same_image_keeps_the_revisions(client: Client) -> None:
    name = next(iter(client.switch.create()))
    client.switch.patch(name, (), {"system": {"hostname": "other"}})
    client.switch.request(name, APPLY)
    client.clock.sleep(60)
    client.act("/system", "reboot", **{"no-confirm": True})
    assert len(client.switch.revisions) == 2
    assert client.switch.applied["system"]["hostname"] == "other"


@pytest.mark.parametrize(
    ("path", "action", "parameters", "said"),
    [
        ("/system/image", "fetch", {"remote-url": "http://192.0.2.1/none.bin"}, "404 Not Found"),
        (f"/system/image/files/{NAME}", "install", {"force": True}, "File not found"),
        ("/system/image", "boot-next", {"partition": "other"}, "partition2 has no image"),
    ],
)
def test_what_fails_ends_as_an_error(
    client: Client, path: str, action: str, parameters: Any, said: str
) -> None:
    status, ended = client.act(path, action, **parameters)
    assert (status, ended["state"]) == (200, "action_error")
    assert said in ended["detail"]


@pytest.mark.parametrize(
    ("release", "path", "action", "parameters", "status"),
    [
        ("5.10.0", "/system/image", "fetch", {"remote-url": URL}, 404),
        ("5.12.1", "/system/image", "fetch", {}, 400),
        ("5.12.1", "/system/image", "fetch", {"remote-url": "/var/images/a.bin"}, 400),
        ("5.12.1", "/system/image", "boot-next", {"partition": "3"}, 400),
        ("5.12.1", f"/system/image/files/{NAME}", "install", {"sha256": "0"}, 400),
        ("5.12.1", "/system", "reboot", {"mode": "cold", "force": True}, 400),
        ("5.16.0", "/system", "reboot", {"no-confirm": True}, 400),
        ("5.12.1", "/system", "shutdown", {}, 404),
    ],
)
def test_what_a_release_does_not_have_is_refused(
    release: str, path: str, action: str, parameters: Any, status: int
) -> None:
    assert Client(release).act(path, action, **parameters)[0] == status
