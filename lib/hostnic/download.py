# SPDX-License-Identifier: Apache-2.0
"""``download.py FILE SECONDS``: downloads for a limited time, and continues what an earlier run left.

The URL is its standard input, since its query may have a token, which no list of processes and no message may
show. It prints ``all`` or ``part``, and how many bytes FILE has. It runs in a process of its own, which can
be killed at its deadline: hooks import this module only to know its path. FILE is removed if it would become
too large, or leave too little room on its file system.
"""

import os
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from http.client import HTTPMessage, HTTPResponse
    from urllib.request import OpenerDirector

PROGRAM = str(Path(__file__))

SILENCE_S = 15.0
"""The server has to send something within this time."""
MOST = 512 << 20
"""Bytes of FILE. A firmware image has some tens of MB, and an archive one for each kind of NIC."""
FREE = 1 << 30
"""Bytes that stay free where FILE is: Juju, logs and packages are there, too."""
CHUNK = 1 << 18
PARTIAL_CONTENT, NOT_SATISFIABLE = 206, 416


class TooLargeError(OSError):
    """The server's data cannot be kept."""


def fetch(url: str, path: Path, seconds: float) -> bool:
    """Add to the file what the server sends within ``seconds``; True when the file is complete.

    A server that does not know byte ranges sends everything again.

    Raises OSError if the file cannot be fetched or written, and HTTPException if the server does not speak
    HTTP.
    """
    import urllib.error
    import urllib.request

    end = time.monotonic() + seconds
    with path.open("ab") as target:
        had = target.tell()
        headers = {"Range": f"bytes={had}-"} if had else {}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the option takes http and https
        try:
            source: HTTPResponse = _opener(end).open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            if had and error.code == NOT_SATISFIABLE:
                return True  # nothing is behind what is here
            raise
        try:
            with source:
                if had and not _continues(source, had):
                    target.truncate(0)
                whole = _receive(source, target, end)
        except TooLargeError:
            path.unlink()
            raise
        target.flush()
        os.fsync(target.fileno())
    return whole


def _opener(end: float) -> "OpenerDirector":
    """Return an opener of URLs, with limits, that works until ``end``."""
    import urllib.request
    from urllib.request import Request

    from converge.opener import Bounded

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(
            self, req: Request, fp: IO[bytes], code: int, msg: str, headers: "HTTPMessage", newurl: str
        ) -> Request | None:
            fp.close()  # urllib would read whatever comes with the redirect
            if not newurl.startswith(("http://", "https://")):
                raise OSError(f"the server redirects to {newurl[:100]}, which is no http or https address")
            req.timeout = max(end - time.monotonic(), 0.001)
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    # Beside the file there are headers, and the framing of chunks.
    return urllib.request.build_opener(Bounded(most=2 * MOST, silence=SILENCE_S), Redirects)


def _continues(source: "HTTPResponse", had: int) -> bool:
    span = source.headers.get("Content-Range", "")
    return source.status == PARTIAL_CONTENT and span.startswith(f"bytes {had}-")


def _receive(source: "HTTPResponse", target: IO[bytes], end: float) -> bool:
    left = source.headers.get("Content-Length")
    length, got = int(left) if left and left.isdecimal() else None, 0
    _check(target, length or 0)
    while time.monotonic() < end:
        try:
            chunk = source.read1(CHUNK)  # read() would wait for a whole chunk of a slow server
        except TimeoutError:
            if time.monotonic() < end:
                raise
            break
        if not chunk:
            if length is not None and got < length:
                raise OSError(f"the server ended the connection after {got} of {length} bytes")
            return True
        _check(target, len(chunk))
        target.write(chunk)
        got += len(chunk)
    return got == length


def _check(target: IO[bytes], more: int) -> None:
    """Check that the file may grow by ``more`` bytes. Raises TooLargeError if it may not."""
    if os.fstat(target.fileno()).st_size + more > MOST:
        raise TooLargeError(f"the server sends more than {MOST >> 20} MiB, which is no firmware image")
    disk = os.fstatvfs(target.fileno())
    if disk.f_bavail * disk.f_frsize - more < FREE:
        where = Path(target.name).parent
        raise TooLargeError(f"{where} has too little room: {FREE >> 20} MiB have to stay free")


def main() -> int:
    """Return the exit code; 1 after an error, with its sentence on standard error."""
    from http.client import HTTPException
    from urllib.error import HTTPError

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from converge.finding import without_query

    url, (name, seconds) = sys.stdin.read(), sys.argv[1:]
    path = Path(name)
    try:
        whole = fetch(url, path, float(seconds))
    except (OSError, HTTPException, ValueError) as error:
        said = error if isinstance(error, HTTPError) else getattr(error, "reason", error)
        print(without_query(str(said)), file=sys.stderr)
        return 1
    print("all" if whole else "part", path.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
