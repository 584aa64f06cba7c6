# SPDX-License-Identifier: Apache-2.0
"""A host whose answers are kept, and one that gives kept answers.

A question is spelled as records of calls spell it: ``read /sys/…``, ``eswitch_mode 0000:3b:00.0``,
``query mstconfig -d …``. Its answer is a value for JSON; a failure is one, too.
"""

import errno
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn, cast

from hostnic import system as values
from hostnic.calls import Call
from hostnic.listening import handled
from hostnic.netlink import dcb
from hostnic.system import CommandError, DataCentreBridging, Devlink, Ethtool, Files, Links, System

Answers = dict[str, Any]
"""Answers by question."""

_TUPLES: dict[str, Callable[..., tuple[Any, ...]]] = {
    name: each for module in (values, dcb) for name, each in vars(module).items() if hasattr(each, "_fields")
}
"""Types of the doors' values, by name."""
_FAILED, _COMMAND = "OSError", "CommandError"
LEFT_OUT = "left out of the capture"
_FAILURES: dict[str, tuple[type | tuple[type, ...], ...]] = {
    _FAILED: (int, str),
    _COMMAND: (str, (int, type(None)), str, str),
}
_KINDS: dict[str, tuple[type, type]] = {
    **dict.fromkeys(("read", "readlink", "query", "database"), (str, str)),
    **dict.fromkeys(("listdir", "addresses"), (list, str)),
    "links": (list, values.Link),
    "stat": (values.FileStat, object),
    "device_info": (values.DeviceInfo, object),
}
"""The type of the answer to a question, and of its entries if it is a list."""
Ask = Callable[[str, Callable[[], object]], object]
"""Gives the answer to a question; the callable asks the host."""


def encode(value: object) -> Any:  # noqa: ANN401 - JSON's values
    """A value that a door returns, as JSON has it: a named tuple is an object with its type's name."""
    if not isinstance(value, tuple | list):
        return value
    name = type(cast("object", value)).__name__
    found = [encode(each) for each in cast("Sequence[object]", value)]
    return {name: found} if name in _TUPLES else found


def decode(value: Any, inside: bool = False) -> Any:  # noqa: ANN401 - JSON's values
    """Decode a value of :func:`encode`; sequences inside a named tuple are tuples."""
    if isinstance(value, dict):
        ((name, fields),) = cast("dict[str, list[Any]]", value).items()
        return _TUPLES[name](*(decode(each, True) for each in fields))
    if isinstance(value, list):
        found = [decode(each, inside) for each in cast("list[Any]", value)]
        return tuple(found) if inside else found
    return value


def failure(error: OSError) -> Answers:
    """A failure as an answer."""
    if isinstance(error, CommandError):
        return {_COMMAND: [error.reason, error.returncode, error.stdout, error.stderr]}
    return {_FAILED: [error.errno or errno.EIO, error.strerror or str(error)]}


def checked(answers: object) -> Answers:
    """Answers as :class:`Recording` keeps them, which :class:`Replay` can give.

    Raises ValueError or TypeError if there is one that no question has.
    """
    if not isinstance(answers, dict):
        raise TypeError("the answers are not a mapping")
    found = cast("Answers", answers)
    for question, answer in found.items():
        if not question.split():
            raise ValueError("an answer without a question")
        if isinstance(answer, dict) and (answer.keys() <= _FAILURES.keys()):
            ((kind, fields),) = cast("dict[str, list[Any]]", answer).items()
            right = _are(fields, *_FAILURES[kind])
        else:
            value = decode(answer)
            kind, inside = _KINDS.get(question.partition(" ")[0], (object, object))
            right = isinstance(value, kind)
            if right and isinstance(value, list):
                right = all(isinstance(each, inside) for each in cast("list[object]", value))
        if not right:
            raise ValueError(f"no answer to {question[:60]}")
    return found


def _are(fields: list[Any], *kinds: type | tuple[type, ...]) -> bool:
    return len(fields) == len(kinds) and all(isinstance(*each) for each in zip(fields, kinds))


def _given(question: str, answer: Any) -> Any:  # noqa: ANN401 - JSON's values
    if isinstance(answer, dict):
        ((kind, fields),) = cast("dict[str, list[Any]]", answer).items()
        if kind == _COMMAND:
            raise CommandError(question.split()[1:], *fields)
        if kind == _FAILED:
            raise OSError(fields[0], fields[1])
    return decode(answer)


class _ReadOnly:
    """A host whose questions ``ask`` answers, and which refuses whatever would change it.

    Attributes:
        started: the monotonic clock's only reading in seconds.

    """

    def __init__(self, system: System | None, started: float, ask: Ask) -> None:
        self.started = started
        self._system, self._ask = system, ask

        def handle(call: Call, words: Sequence[str], make: Callable[[], object]) -> object:
            if call.writes:
                _refuse(call.verb)
            return ask(" ".join((call.verb, *words)), make)

        self.files = handled(system.files if system else None, Files, handle)
        self.links = handled(system.links if system else None, Links, handle)
        self.ethtool = handled(system.ethtool if system else None, Ethtool, handle)
        self.dcb = handled(system.dcb if system else None, DataCentreBridging, handle)
        self.devlink = handled(system.devlink if system else None, Devlink, handle)

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:  # noqa: ARG002
        _refuse(" ".join(argv))

    def answering(self, addresses: Collection[str], port: int, timeout: float) -> frozenset[str]:  # noqa: ARG002
        _refuse(f"a connection to port {port} of other hosts")

    def control(self, command: str, timeout: float) -> str:  # noqa: ARG002 - System's method
        _refuse(f"ovs-vswitchd's command {command}")

    def database(self, table: str, columns: Sequence[str], timeout: float) -> str:
        return cast(
            "str", self._ask(_of_database(table, columns), lambda: self._rows(table, columns, timeout))
        )

    def _rows(self, table: str, columns: Sequence[str], timeout: float) -> str:
        if self._system is None:
            raise OSError(errno.EIO, f"{table}: not in the capture")
        return self._system.database(table, columns, timeout)

    def now(self) -> float:
        return self.started


class Recording(_ReadOnly):
    """Passes what only reads on to ``system``, keeps each question's first answer, and refuses to write.

    Attributes:
        answers: what was kept.

    """

    def __init__(self, system: System) -> None:
        super().__init__(system, system.now(), self._keep)
        self._host = system
        self.answers: Answers = {}

    def _keep(self, question: str, read: Callable[[], object]) -> object:
        try:
            found = read()
        except OSError as error:
            self.answers.setdefault(question, failure(error))
            raise
        self.answers.setdefault(question, encode(found))
        return found

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        answer = self._keep(" ".join(("query", *argv)), lambda: self._host.query(argv, timeout))
        return cast("str", answer)

    def sleep(self, seconds: float) -> None:
        self._host.sleep(seconds)


class Replay(_ReadOnly):
    """A host that gives the kept answers; what was never asked, or was left out, is an error."""

    def __init__(self, answers: Mapping[str, Any], started: float) -> None:
        super().__init__(None, started, self._give)
        self._answers = answers

    def _give(self, question: str, read: Callable[[], object]) -> object:  # noqa: ARG002 - as Recording's
        if question not in self._answers:
            if question.startswith("exists "):
                return False
            raise OSError(errno.EIO, f"{question}: not in the capture")
        return _given(question, self._answers[question])

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:  # noqa: ARG002 - System's method
        question = " ".join(("query", *argv))
        if question not in self._answers:
            raise CommandError(argv, f"{question}: not in the capture")
        return cast("str", _given(question, self._answers[question]))

    def sleep(self, seconds: float) -> None:
        """Nothing changes by waiting."""


def _of_database(table: str, columns: Sequence[str]) -> str:
    return " ".join(("database", table, *columns))


def _refuse(what: str) -> NoReturn:
    raise OSError(errno.EROFS, f"{what}: a capture changes nothing")
