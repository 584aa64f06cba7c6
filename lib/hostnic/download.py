# SPDX-License-Identifier: Apache-2.0
"""``download.py URL FILE SECONDS``: downloads for a limited time, and continues what an earlier run left.

It prints how many bytes FILE has, behind ``all`` or ``part``. It runs in a process of its own, which can be
killed at its deadline, and imports nothing of the project. Hooks import it for its path alone.
"""

import os
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from http.client import HTTPResponse

PROGRAM = str(Path(__file__))

SILENCE_S = 15.0
"""The server has to send something within this time."""
CHUNK = 1 << 18
PARTIAL_CONTENT, NOT_SATISFIABLE = 206, 416


def fetch(url: str, path: Path, seconds: float) -> bool:
    """Add to the file what the server sends within ``seconds``; True when the file is complete.

    A server that does not know byte ranges sends everything again.

    Raises:
        OSError: the file cannot be fetched or written.
        HTTPException: the server does not speak HTTP.

    """
    import urllib.error
    import urllib.request

    end = time.monotonic() + seconds
    with path.open("ab") as target:
        had = target.tell()
        headers = {"Range": f"bytes={had}-"} if had else {}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the option takes http and https
        try:
            source: HTTPResponse = urllib.request.urlopen(request, timeout=SILENCE_S)  # noqa: S310 - as above
        except urllib.error.HTTPError as error:
            if had and error.code == NOT_SATISFIABLE:
                return True  # nothing is behind what is here
            raise
        with source:
            if had and not _continues(source, had):
                target.truncate(0)
            whole = _receive(source, target, end)
        target.flush()
        os.fsync(target.fileno())
    return whole


def _continues(source: "HTTPResponse", had: int) -> bool:
    span = source.headers.get("Content-Range", "")
    return source.status == PARTIAL_CONTENT and span.startswith(f"bytes {had}-")


def _receive(source: "HTTPResponse", target: IO[bytes], end: float) -> bool:
    left = source.headers.get("Content-Length")
    length, got = int(left) if left and left.isdecimal() else None, 0
    while time.monotonic() < end:
        chunk = source.read1(CHUNK)  # read() would wait for a whole chunk of a slow server
        if not chunk:
            if length is not None and got < length:
                raise OSError(f"the server ended the connection after {got} of {length} bytes")
            return True
        target.write(chunk)
        got += len(chunk)
    return got == length


def main() -> int:
    """Return the exit code; 1 after an error, with its sentence on standard error."""
    from http.client import HTTPException

    url, name, seconds = sys.argv[1:]
    path = Path(name)
    try:
        whole = fetch(url, path, float(seconds))
    except (OSError, HTTPException, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    print("all" if whole else "part", path.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
