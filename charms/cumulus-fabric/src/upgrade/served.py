# SPDX-License-Identifier: Apache-2.0
"""Reads the image from the operator's server, to see whether it is the one that the operator means."""

import hashlib
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.request import Request

from converge import StepError, words
from converge.bounded import MIB
from converge.finding import without_query
from converge.opener import Bounded
from intent.image import Image

MOST = 4096 * MIB
"""Bytes of an image; those of 5.15 have some 900 MiB."""

SECONDS, SILENCE_S = 1800.0, 30.0
"""Seconds for all of it, and within which the server has to send something."""

CHUNK = 1 << 20


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A switch may not follow one, so that it would get something else."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow none: urllib then reports its status."""


def check(image: Image) -> None:
    """Read the image from its server, and compare its checksum.

    Raises StepError if it cannot be read, or has another one.
    """
    digest, shown = hashlib.sha256(), without_query(image.url)
    opener = urllib.request.build_opener(Bounded(most=MOST, silence=SILENCE_S), _NoRedirects)
    try:
        with opener.open(image.url, timeout=SECONDS) as answer:
            while chunk := answer.read(CHUNK):
                digest.update(chunk)
    except urllib.error.HTTPError as error:
        raise StepError(
            f"{shown}: the server answers {error.code}", "check the address of the image"
        ) from None
    except (OSError, HTTPException) as error:
        remedy = "check that the server answers; or leave sha256 out, and compare the image there"
        raise StepError(f"{shown} cannot be read: {words(error)}", remedy) from None
    if digest.hexdigest() != image.sha256:
        what = f"{shown} has the SHA-256 {digest.hexdigest()}, not {image.sha256}"
        raise StepError(what, "put the right image there, or give its checksum")
