# SPDX-License-Identifier: Apache-2.0
"""The image of a release on the operator's server. Pure."""

import re
from typing import NamedTuple

from converge.finding import without_query
from converge.shape import InvalidValue

_URL = re.compile(r"https?://[!-~]{1,2000}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.bin")
_RELEASE = re.compile(r"(?<![0-9.])5\.[0-9]{1,2}\.[0-9]{1,2}(?![0-9.]*[0-9])")
_SHA256 = re.compile(r"[0-9a-f]{64}")

EXAMPLE = "http://192.0.2.1/cumulus-linux-5.15.0-mlx-amd64.bin"


class Image(NamedTuple):
    """An image of Cumulus Linux."""

    url: str
    name: str  # of its file
    release: str  # as the name has it
    sha256: str = ""  # in hex; empty if it is not to be compared


def read(where: str, url: str, sha256: str = "") -> Image:
    """The image at a URL. Raises InvalidValue if that, or its checksum, cannot be one."""
    if not _URL.fullmatch(url):
        raise InvalidValue(where, url, f"an http or https address, such as {EXAMPLE}")
    name = url.partition("?")[0].rpartition("/")[2]
    release = _RELEASE.search(name)
    if not _NAME.fullmatch(name) or not release:
        raise InvalidValue(
            where, without_query(url), f"one whose file name has the release, such as {EXAMPLE}"
        )
    if sha256 and not _SHA256.fullmatch(sha256):
        raise InvalidValue("sha256", sha256, "64 hexadecimal digits in lower case")
    return Image(url, name, release[0], sha256)
