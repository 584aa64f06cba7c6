# SPDX-License-Identifier: Apache-2.0
"""Commands over SSH, and the card of a port that is found there."""

import pytest
from hostnic.firmware.vpd import serial_in
from lab.calibrate import ssh
from lab.calibrate.shell import CardError, find
from lab.calibrate.ssh import SshError, SshShell
from lib.lab.calibrate.calibration import P0, host
from lib.lab.calibrate.modelled import OTHER, PORTS

__all__ = ["host"]


def test_a_host_that_cannot_be_reached_is_named(host):
    (host.root / "unreachable").touch()
    with pytest.raises(SshError, match="no connection to root@server: ssh: connect to host root@server"):
        find(SshShell("root@server"), P0)


def test_a_command_that_does_not_end_is_told(host, monkeypatch):
    monkeypatch.setattr(ssh, "GRACE", 0.3)
    with pytest.raises(SshError, match="root@server has not answered for 0 s"):
        SshShell("root@server").run("exec sleep 5", 0.1)


def test_an_exit_status_of_255_is_the_commands_own(host):
    done = SshShell("root@server").run("echo said; echo told >&2; exit 255", 5)
    assert (done.returncode, done.stdout, done.stderr) == (255, "said\n", "told\n")


def test_what_the_login_shell_prints_is_not_the_commands(host):
    host.set("greeting", "Welcome to server-7\nno mail\n")
    done = SshShell("root@server").run("echo said; echo told >&2", 5)
    assert (done.stdout, done.stderr) == ("said\n", "told\n")
    assert find(SshShell("root@server"), P0).addresses == tuple(PORTS)


def test_a_connection_that_is_lost_meanwhile_is_told(host):
    host.set("lost", "")
    with pytest.raises(SshError, match=r"^the connection was lost to root@server: closed by remote host$"):
        SshShell("root@server").run("echo said; echo closed by remote host >&2", 5)


def test_the_card_of_a_port_is_found(host):
    card = find(SshShell("root@server"), "5e:00.1")
    assert (card.addresses, card.netdevs) == (tuple(OTHER), tuple(OTHER.values()))


def test_a_port_that_is_not_there_is_named_with_the_cards_that_are(host):
    with pytest.raises(CardError, match=r"3c:00\.0 is no port .* mlx5_core has: 0000:3b:00, 0000:5e:00"):
        find(SshShell("root@server"), "3c:00.0")


@pytest.mark.parametrize(
    "data", [b"", b"\x82", b"\x90\x04\x00SN", b"\x90\x05\x00SN\x09AB", b"\x78", b"\xff" * 64]
)
def test_damaged_product_data_have_no_serial_number_or_what_is_left_of_it(data):
    assert serial_in(data) in ("", "AB")
