# SPDX-License-Identifier: Apache-2.0
"""The program that downloads an image, against a web server that sends too little, too much or nothing."""

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import sleep
from typing import ClassVar

import pytest
from hostnic import download
from hostnic.download import PROGRAM

CONTENT = bytes(range(256)) * 4096
FOUND = b"HTTP/1.0 302 Found\r\nLocation: "
ENDLESS = {
    "/drip": (b"HTTP/1.0 200 OK\r\nA: ", 0.1, b"b"),
    "/flood": (b"HTTP/1.0 200 OK\r\n\r\n", 0, b" " * 65536),
    "/huge": (b"HTTP/1.0 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", 0, b" " * 65536),
    "/away": (FOUND + b"/\r\n\r\n", 0, b" " * 65536),
    "/around": (FOUND + b"/around\r\n\r\n", 0.1, b" "),
    "/ftp": (FOUND + b"ftp://127.0.0.1/fw.bin\r\n\r\n", 0.1, b" "),
    "/signed-ftp": (FOUND + b"ftp://127.0.0.1/fw.bin?token=5ecre7\r\n\r\n", 0.1, b" "),
    "/signed-file": (FOUND + b"file:///fw.bin?token=5ecre7\r\n\r\n", 0.1, b" "),
    "/signed-port": (FOUND + b"http://127.0.0.1:x?token=5ecre7\r\n\r\n", 0.1, b" "),
    "/echo?token=5ecre7": (b"HTTP/1.0 403 no /echo?token=5ecre7\r\n\r\n", 0.1, b" "),
}
"""The beginning of these pages, the pause before more, and more."""


class Server(BaseHTTPRequestHandler):
    """Serves CONTENT: ``/whole`` without byte ranges; ``/slow`` never ends; ``/short`` ends too early.

    ``/other`` sends another range than was asked for, ``/silent`` nothing at all for seconds; ``/none`` has
    no byte to send. ``/drip`` and ``/flood`` have no end, nor do the answers with which ``/away`` redirects;
    ``/around`` redirects to itself, and ``/huge`` announces a terabyte.
    """

    ended: ClassVar[list[str]] = []
    """The pages without end whose client took all that there is."""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == "/missing":
            self.send_error(404, "Not Found")
            return
        if self.path in ENDLESS:
            self._send_without_end(*ENDLESS[self.path])
            return
        begin = int(self.headers.get("Range", "bytes=0-")[6:-1]) if self.path != "/whole" else 0
        if self.path == "/silent":
            sleep(2)
        if self.path == "/none" or (begin and begin >= len(CONTENT)):
            self.send_error(416)
            return
        if self.path == "/other":
            begin //= 2
        body = CONTENT[begin:]
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path == "/slow":
            for at in range(0, 8000, 10):
                self.wfile.write(body[at : at + 10])
                sleep(0.05)
        self.wfile.write(body[:1000] if self.path == "/short" else body)

    def _send_without_end(self, head: bytes, pause: float, part: bytes) -> None:
        try:
            self.wfile.write(head)
            for _ in range(int(20 / pause) if pause else 1 << 20):
                self.wfile.write(part)
                sleep(pause)
            self.ended.append(self.path)
        except OSError:
            return  # the client has gone

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Server.ended.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as served:
        Thread(target=served.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def run(url: str, path: Path, seconds: float = 30) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", PROGRAM, str(path), str(seconds)]
    return subprocess.run(argv, input=url, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", ["/", "/whole"])
@pytest.mark.parametrize("had", [b"", CONTENT[:12345], CONTENT])
def test_the_program_completes_a_file(tmp_path: Path, server: str, page: str, had: bytes) -> None:
    target = tmp_path / "file"
    target.write_bytes(had)
    done = run(server + page, target)
    assert (done.returncode, done.stdout) == (0, f"all {len(CONTENT)}\n"), done.stderr
    assert target.read_bytes() == CONTENT


def test_the_program_stops_in_time_and_keeps_what_it_has(tmp_path: Path, server: str) -> None:
    target, size = tmp_path / "file", 0
    for seconds in (0.4, 2, 10):  # a busy machine may get nothing in the first ones
        done = run(f"{server}/slow", target, seconds)
        if size := target.stat().st_size:
            break
    assert (done.returncode, done.stdout) == (0, f"part {size}\n")
    assert 0 < size < len(CONTENT)
    assert CONTENT.startswith(target.read_bytes())
    run(server, target)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("/missing", "HTTP Error 404: Not Found"),
        ("/none", "HTTP Error 416: Requested Range Not Satisfiable"),
        ("/huge", "the server sends more than 512 MiB, which is no firmware image"),
        ("/ftp", "the server redirects to ftp://127.0.0.1/fw.bin, which is no http or https address"),
        ("/short", f"the server ended the connection after 1000 of {len(CONTENT)} bytes"),
    ],
)
def test_the_program_says_in_one_sentence_why_it_failed(
    tmp_path: Path, server: str, page: str, says: str
) -> None:
    done = run(server + page, tmp_path / "file")
    assert (done.returncode, done.stderr) == (1, f"{says}\n")


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("/missing?token=5ecre7", "HTTP Error 404: Not Found"),
        ("/echo?token=5ecre7", "HTTP Error 403: no /echo?..."),
        ("/signed-ftp", "ftp://127.0.0.1/fw.bin?..."),
        ("/signed-file", "'file:///fw.bin?..."),
        ("/signed-port", "nonnumeric port: 'x'"),
    ],
)
def test_no_message_has_the_query_of_an_address(tmp_path: Path, server: str, page: str, says: str) -> None:
    done = run(server + page, tmp_path / "file")
    assert says in done.stderr
    assert (done.returncode, "5ecre7" in done.stderr + done.stdout) == (1, False)


def test_another_range_than_was_asked_for_is_not_added(tmp_path: Path, server: str) -> None:
    target = tmp_path / "file"
    target.write_bytes(CONTENT[:12345])
    run(f"{server}/other", target)
    assert target.read_bytes() != CONTENT[:12345] + CONTENT[6172:]


def test_a_silent_server_is_given_up(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "SILENCE_S", 0.2)
    with pytest.raises(OSError, match="timed out"):
        download.fetch(f"{server}/silent", tmp_path / "file", 30)


def test_headers_that_drip_have_no_more_than_the_time_of_the_download(tmp_path: Path, server: str) -> None:
    done = run(f"{server}/drip", tmp_path / "file", 1)
    place = server.removeprefix("http://")
    says = f"timed out: {place} does not finish its answer within 1 s\n"
    assert (done.returncode, done.stderr) == (1, says)
    assert Server.ended == [], "the program waited for the end of the page"


@pytest.mark.parametrize("page", ["/flood", "/huge"])
@pytest.mark.parametrize("had", [b"", b"x" * 1000])
def test_a_file_without_end_is_removed(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch, page: str, had: bytes
) -> None:
    monkeypatch.setattr(download, "MOST", 1 << 20)
    target = tmp_path / "file"
    target.write_bytes(had)
    with pytest.raises(OSError, match=r"^the server sends more than 1 MiB, which is no firmware image$"):
        download.fetch(server + page, target, 30)
    assert not target.exists()


def test_a_file_grows_to_the_limit_over_several_runs_and_not_beyond(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    target.write_bytes(CONTENT[:12345])
    monkeypatch.setattr(download, "MOST", len(CONTENT))
    assert download.fetch(server, target, 30)
    target.write_bytes(CONTENT[:12345])
    monkeypatch.setattr(download, "MOST", len(CONTENT) - 1)
    with pytest.raises(download.TooLargeError):
        download.fetch(server, target, 30)
    assert not target.exists()


@pytest.mark.parametrize("page", ["/", "/flood"])
def test_a_disk_without_room_is_not_filled(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"x" * 1000)
    monkeypatch.setattr(download, "FREE", 1 << 62)
    with pytest.raises(OSError, match=f"^{tmp_path} has too little room: "):
        download.fetch(server + page, target, 30)
    assert not target.exists()


def test_redirects_have_the_time_of_one_download_and_their_content_is_not_read(
    tmp_path: Path, server: str
) -> None:
    target = tmp_path / "file"
    assert download.fetch(f"{server}/away", target, 30)
    assert target.read_bytes() == CONTENT
    with pytest.raises(OSError, match="redirect"):
        download.fetch(f"{server}/around", tmp_path / "other", 30)
