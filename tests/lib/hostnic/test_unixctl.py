# SPDX-License-Identifier: Apache-2.0
"""ovs-vswitchd's control socket: a real socket of this machine, with a peer that keeps to it or not."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hostnic.network import unixctl

SHOWN = "system@ovs-system:\n  flows         : (current 7) (avg 7) (max 9) (limit 200000)\n"


@contextmanager
def vswitchd(
    tmp_path: Path,
    play: Callable[[socket.socket, dict[str, object]], None],
    name: str = "ovs-vswitchd.1234.ctl",
) -> Iterator[Path]:
    """A daemon that is given each request."""
    (tmp_path / "ovs-vswitchd.pid").write_text("1234\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / name))
        listener.listen()

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    play(connection, json.loads(connection.recv(1 << 16)))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield tmp_path
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def test_the_answer_ends_with_its_last_brace_and_not_with_the_connection(tmp_path: Path) -> None:
    asked: list[dict[str, object]] = []

    def play(connection: socket.socket, request: dict[str, object]) -> None:
        asked.append(request)
        text = json.dumps({"error": None, "id": 0, "result": SHOWN + "{}"}).encode()
        for start in range(0, len(text), 20):
            connection.sendall(text[start : start + 20])
            time.sleep(0.001)
        connection.recv(1)  # until the client has gone

    with vswitchd(tmp_path, play) as directory:
        assert unixctl.control("upcall/show", 5.0, directory) == SHOWN + "{}"
    assert asked == [{"id": 0, "method": "upcall/show", "params": []}]


def drip(connection: socket.socket, _: object) -> None:
    for _part in range(400):
        connection.sendall(b" ")
        time.sleep(0.02)


def flood(connection: socket.socket, _: object) -> None:
    for _part in range(1 << 10):
        connection.sendall(b" " * (1 << 16))


def refuse(connection: socket.socket, _: object) -> None:
    connection.sendall(b'{"error": "\\"x\\" is not a valid command", "id": 0, "result": null}')


def half(connection: socket.socket, _: object) -> None:
    connection.sendall(b'{"error": null, "id"')


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (lambda connection, _: connection.recv(1), "timed out: ovs-vswitchd does not answer within 0.2 s"),
        (drip, "timed out: ovs-vswitchd does not finish its answer within 0.2 s"),
        (flood, "ovs-vswitchd sends more than 1 MiB"),
        (refuse, "ovs-vswitchd refuses the command: .*not a valid command"),
        (half, "ovs-vswitchd does not finish its answer"),
    ],
    ids=["silent", "drips", "floods", "refuses", "ends early"],
)
def test_a_daemon_that_does_not_keep_to_it_is_left(
    tmp_path: Path, play: Callable[[socket.socket, dict[str, object]], None], said: str
) -> None:
    with vswitchd(tmp_path, play) as directory, pytest.raises(OSError, match=said):
        unixctl.control("upcall/show", 0.2 if "0.2" in said else 20.0, directory)


def test_without_ovs_there_is_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        unixctl.control("upcall/show", 1.0, tmp_path)


ROWS = [{"other_config": ["map", [["hw-offload", "true"]]]}]


def test_the_database_gives_the_rows_of_a_table(tmp_path: Path) -> None:
    asked: list[dict[str, object]] = []

    def play(connection: socket.socket, request: dict[str, object]) -> None:
        asked.append(request)
        connection.sendall(json.dumps({"error": None, "id": 0, "result": [{"rows": ROWS}]}).encode())
        connection.recv(1)

    with vswitchd(tmp_path, play, "db.sock") as directory:
        told = unixctl.select("Open_vSwitch", ("other_config",), 5.0, directory)
    assert json.loads(told) == ROWS
    select = {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["other_config"]}
    assert asked == [{"id": 0, "method": "transact", "params": ["Open_vSwitch", select]}]


@pytest.mark.parametrize(
    "result",
    [[{"error": "unknown column"}], [{"rows": []}, {"error": "constraint violation"}], [], {}, "rows", [[]]],
)
def test_what_is_no_table_is_an_error(tmp_path: Path, result: object) -> None:
    def play(connection: socket.socket, _: object) -> None:
        connection.sendall(json.dumps({"error": None, "id": 0, "result": result}).encode())

    with (
        vswitchd(tmp_path, play, "db.sock") as directory,
        pytest.raises(OSError, match="ovsdb-server does not tell Open_vSwitch"),
    ):
        unixctl.select("Open_vSwitch", (), 5.0, directory)
