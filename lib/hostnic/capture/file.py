# SPDX-License-Identifier: Apache-2.0
"""A capture as text: taken on a host, and read where it is replayed."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from converge import Finding, Plan
from converge.render import findings_as_table, plan_as_table, with_differences

from hostnic.capture import reduce
from hostnic.capture.anonymous import Anonymous, macs
from hostnic.capture.recording import LEFT_OUT, Answers, Recording, Replay, checked, decode, failure
from hostnic.devices import users
from hostnic.system import CommandError, Link, System, read_text

MARK = "ovn-offload-capture"
VERSION = 1
_TEXT = re.compile(rf"{MARK}:([A-Za-z0-9+/=]+)")
_HOSTNAME = "/proc/sys/kernel/hostname"
_SERIALS = tuple(f"/sys/class/dmi/id/{name}_serial" for name in ("product", "board", "chassis"))
_LARGEST = 1 << 26
"""Bytes of a capture; a host with 254 VFs has some hundred thousand."""


class CaptureError(ValueError):
    """The text has no capture that this revision reads; one sentence."""


class Shown(NamedTuple):
    """A charm's results for a host."""

    plan: Plan[System]
    findings: Sequence[Finding]  # those of verify
    others: Mapping[str, str]  # by name what its other actions print
    judged: Mapping[str, Any] = {}  # for a replay: what it made of texts that a capture leaves out

    @property
    def tables(self) -> dict[str, str]:
        """The output of its actions, by name."""
        plan = plan_as_table(with_differences(self.plan, self.findings))
        return {**self.others, "plan": plan, "verify": findings_as_table(self.findings)}


Inputs = Mapping[str, Any]
"""A charm's inputs from Juju, as JSON: its options, and whatever else it needs besides the host."""
Show = Callable[[System, Inputs], Shown]


class Capture(NamedTuple):
    """A capture that was read."""

    charm: str  # whose it is
    inputs: Inputs  # what that took from Juju
    system: Replay  # the host that gives the kept answers
    content: Mapping[str, Any]  # the whole document


def take(system: System, charm: str, inputs: Inputs, show: Show, key: bytes = b"") -> str:
    """Have ``show`` read the host, and return what it read, reduced and with stand-ins.

    Args:
        system: the host; nothing on it is changed.
        charm: its name.
        inputs: for ``show``.
        show: reads all that a replay needs. If it fails, the capture has what it read until then.
        key: of the stand-ins; tests fix it.

    """
    recording = Recording(system)
    changed: set[str] | None = None
    try:
        shown = show(recording, inputs)
        inputs = {**inputs, **shown.judged}
        changed = None if shown.plan.blocked else {step.key for step in shown.plan.steps}
    except OSError:
        pass  # the reads that failed are in the capture, and fail again in a replay
    answers = {
        question: _reduced(question, answer, changed) for question, answer in recording.answers.items()
    }
    plain = json.dumps([answers, inputs])
    stand_ins = Anonymous(macs(plain), _words(system, answers), key)
    content = {
        "version": VERSION,
        "charm": charm,
        "started": recording.started,
        "inputs": _mapped(inputs, stand_ins),
        "answers": {
            _question(question, stand_ins): _answer(question, answer, stand_ins)
            for question, answer in answers.items()
        },
    }
    packed = zlib.compress(json.dumps(content, sort_keys=True).encode(), 9)
    return f"{MARK}:{base64.b64encode(packed).decode()}"


def read(text: str) -> Capture:
    """The capture in ``text``, whatever stands around it: ``juju run`` prints it among other things.

    Raises CaptureError if there is none, or it is damaged or of a newer revision.
    """
    found = _TEXT.search(text)
    if found is None:
        raise CaptureError(f"there is no capture in it: nothing begins with {MARK}:")
    try:
        unpack = zlib.decompressobj()
        content = json.loads(unpack.decompress(base64.b64decode(found[1], validate=True), _LARGEST))
        if content["version"] != VERSION:
            raise CaptureError(f"the capture has version {content['version']}; this revision reads {VERSION}")
        if not isinstance(content["inputs"], dict):
            raise TypeError("the inputs are not a mapping")
        replay = Replay(checked(content["answers"]), float(content["started"]))
        return Capture(str(content["charm"]), content["inputs"], replay, content)
    except CaptureError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error):
        raise CaptureError("the capture is damaged; copy all of its line") from None


def _reduced(question: str, answer: Any, changed: set[str] | None) -> Any:  # noqa: ANN401
    """Reduce an answer; ``changed`` has the charm's own files that differ, None if it is unknown."""
    verb, _, target = question.partition(" ")
    if isinstance(answer, dict) and CommandError.__name__ in answer:
        reason, code, *texts = cast("Answers", answer)[CommandError.__name__]
        outputs: list[Any] = [reduce.keep(question, text) or "" for text in texts]
        found: Answers = {CommandError.__name__: [reason, code, *outputs]}
        return found
    if question.startswith("readlink /proc/") and isinstance(answer, str):
        return answer if answer.startswith("/dev/infiniband/") else reduce.OTHER
    if verb not in ("read", "query", "database") or not isinstance(answer, str):
        return cast("Any", answer)
    if target.startswith(("/etc/systemd/system/", "/etc/udev/")) and (changed is None or target in changed):
        return reduce.OTHER
    kept = reduce.keep(question, answer)
    if kept is not None:
        return kept
    if verb == "query":
        return failure(CommandError(target.split(), f"{target}: {LEFT_OUT}"))
    return failure(OSError(2, f"{target}: {LEFT_OUT}"))


def _words(system: System, answers: Answers) -> Iterator[tuple[str, str]]:
    """Names that no pattern finds."""
    for kind, paths in (("host", (_HOSTNAME,)), ("serial", _SERIALS)):
        for path in paths:
            word = read_text(system, path) or ""
            yield from ((kind, name) for name in (word, word.partition(".")[0]) if len(name) > 1)
    for question, answer in answers.items():
        verb, _, target = question.partition(" ")
        if verb == "listdir" and target in users.LIBVIRT and isinstance(answer, list):
            names = sorted(cast("list[str]", answer))
            yield from (("instance", name.removesuffix(".xml")) for name in names)
        elif verb == "read" and target.rpartition("/")[0] in users.LIBVIRT and isinstance(answer, str):
            yield from (("instance", name) for name in re.findall(users.NAME, answer))
        elif question == "links" and isinstance(answer, list):
            links = cast("list[Link]", decode(answer))
            yield from (("switch", each) for each in sorted({link.switch_id or "" for link in links}) if each)


def _question(question: str, stand_ins: Anonymous) -> str:
    verb, space, target = question.partition(" ")
    return f"{verb}{space}{stand_ins.text(target)}"


def _answer(question: str, answer: Any, stand_ins: Anonymous) -> Any:  # noqa: ANN401 - JSON's values
    if isinstance(answer, str) and question == "read /proc/net/route":
        return stand_ins.route(answer)
    if isinstance(answer, str) and question == "read /proc/net/ipv6_route":
        return stand_ins.route6(answer)
    return _mapped(answer, stand_ins)


def _mapped(value: Any, stand_ins: Anonymous) -> Any:  # noqa: ANN401 - JSON's values
    if isinstance(value, str):
        return stand_ins.text(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {stand_ins.text(name): _mapped(each, stand_ins) for name, each in pairs}
    if isinstance(value, list | tuple):
        return [_mapped(each, stand_ins) for each in cast("list[Any]", value)]
    return value
