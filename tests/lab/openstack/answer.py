# SPDX-License-Identifier: Apache-2.0
"""A service's answer, and the error that it raises when it refuses."""

import itertools
from dataclasses import dataclass, field

PROJECT = "d3c8f0a1b2e94f6c8a7b6c5d4e3f2a10"
_NUMBERS = itertools.count(1)


@dataclass
class Answer:
    """A status, and a body as JSON or as text."""

    status: int = 200
    body: object = None
    text: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """A service's refusal, with the Answer."""

    def __init__(self, answer):
        super().__init__(answer)
        self.answer = answer


def number():
    """An id as the services have them."""
    return f"00000000-0000-4000-8000-{next(_NUMBERS):012}"
