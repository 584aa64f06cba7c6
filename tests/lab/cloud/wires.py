# SPDX-License-Identifier: Apache-2.0
"""The control plane's network: a cable to the rack, and a way in for clients on the host.

Sockets stay in the network that they were made in. So the host's end of the cable (UDP, see :mod:`lab.cable`)
and the port that clients connect to are made outside and handed over: the host's network does not change.
"""

import contextlib
import fcntl
import os
import re
import socket
import struct
import subprocess
import threading
from pathlib import Path
from typing import Any

from lab.cable import MTU
from lab.cloud.addresses import CONTROLLER, PREFIX

NAME = "oam"
_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_HEAD = 65536
_REQUEST = re.compile(rb"(\w+) http://([\w.]+):(\d+)(\S*) HTTP/1\.[01]\r\n")


def plug(cable: dict[str, Any] | None) -> None:
    """Bring up the controller's interface; without a cable it has a carrier and nobody at the other end.

    Args:
        cable: `fd` of a UDP socket that is bound to this end, and `there`, the port of the other one.

    """
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH", NAME.encode(), _IFF_TAP | _IFF_NO_PI))
    for words in (
        "link set lo up",
        f"link set {NAME} mtu 9000 up",
        f"address add {CONTROLLER}/{PREFIX} dev {NAME}",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    if cable:
        end = socket.socket(fileno=cable["fd"])
        threading.Thread(target=_to_rack, args=(tap, end, cable["there"]), daemon=True).start()
        threading.Thread(target=_from_rack, args=(tap, end), daemon=True).start()


def _to_rack(tap: int, end: socket.socket, there: int) -> None:
    while True:
        frame = os.read(tap, MTU + 64)
        try:
            end.sendto(frame, ("127.0.0.1", there))
        except OSError:  # nobody is there yet, or no longer
            continue


def _from_rack(tap: int, end: socket.socket) -> None:
    while True:
        try:
            os.write(tap, end.recv(MTU + 64))
        except OSError:  # as above; a frame that the interface does not take is lost
            continue


def forward(fd: int | None) -> None:
    """Be an HTTP proxy at a listening socket of the host, for the services here and nothing else."""
    if fd is not None:
        threading.Thread(target=_accept, args=(socket.socket(fileno=fd),), daemon=True).start()


def _accept(listening: socket.socket) -> None:
    while True:
        client, _ = listening.accept()
        threading.Thread(target=_serve, args=(client,), daemon=True).start()


def _serve(client: socket.socket) -> None:
    """One request: the services end the connection after each answer."""
    with client:
        head = b""
        while b"\r\n" not in head and (more := client.recv(_HEAD)):
            head += more
        request = _REQUEST.match(head)
        if not request or request[2].decode() != CONTROLLER:
            client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        try:
            service = socket.create_connection((CONTROLLER, int(request[3])))
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with service:
            service.sendall(
                request[1] + b" " + (request[4] or b"/") + b" HTTP/1.1\r\n" + head[request.end() :]
            )
            threading.Thread(target=_copy, args=(client, service), daemon=True).start()
            _copy(service, client)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)  # ends the other direction, too


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_HEAD):
            target.sendall(data)
    except OSError:  # either side has gone
        return
