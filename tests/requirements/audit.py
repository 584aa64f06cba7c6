# SPDX-License-Identifier: Apache-2.0
"""Look up the known vulnerabilities of every pin; fail for each that answers.yaml does not answer."""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from requirements.files import HERE, asked

ANSWERS = HERE / "answers.yaml"
KEYS = ("id", "package", "version", "reason")
OPTIONS = "--require-hashes --disable-pip --format=json --progress-spinner=off"
SECONDS = 900
JSON_API = "https://pypi.org/pypi/pip/json"
"""Where pip-audit looks up a package, here pip; its address is fixed (pip_audit/_service/pypi.py)."""


class Answer(NamedTuple):
    """Why one vulnerability of one pin does not apply."""

    id: str
    package: str
    version: str
    reason: str


def main(arguments: list[str]) -> int:
    """Print each fault of the named .txt files, or of all.

    0 without any, 1 with some, 2 if nothing could be looked up or the answers cannot be read.
    """
    parser = argparse.ArgumentParser(prog="tox -e audit --", description=__doc__)
    pins = asked(parser, "txt", arguments)
    try:
        answers = read(ANSWERS.read_text())
    except ValueError as error:
        print(error)
        return 2
    reports = [(path.stem, _report(path)) for path in pins]
    if nothing := unanswered(reports):
        print(nothing)
        return 2
    wrong = faults(reports, answers, whole=not arguments)
    for fault in wrong:
        print(fault)
    count = sum(len(report.get("dependencies", [])) for _, report in reports)
    print(f"{count} pins of {len(pins)} files: {len(wrong)} faults, {len(answers)} answered findings")
    return int(bool(wrong))


def read(text: str) -> list[Answer]:
    """The answers of a file.

    Raises:
        ValueError: an entry has not the four keys, each with text; the message is one sentence.

    """
    entries: Any = yaml.safe_load(text)
    if not isinstance(entries, list):
        raise ValueError(f"{ANSWERS.name} has to be a list of entries, each with {', '.join(KEYS)}.")
    for entry in entries:
        whole = isinstance(entry, dict) and tuple(sorted(entry)) == tuple(sorted(KEYS))
        if not whole or not all(isinstance(value, str) and value.strip() for value in entry.values()):
            raise ValueError(f"{ANSWERS.name}: {entry!r} has to have {', '.join(KEYS)}, each with text.")
    return [Answer(**entry) for entry in entries]


def unanswered(reports: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Why no pin at all was looked up, and what to check; nothing if one was."""
    pins = [pin for _, report in reports for pin in report.get("dependencies", [])]
    said = [report["error"] for _, report in reports if report.get("error")]
    said += [pin["skip_reason"] for pin in pins if pin.get("skip_reason")]
    if not said or not all(pin.get("skip_reason") for pin in pins):
        return ""
    return (
        f"Nothing could be looked up, such as: {said[0].rstrip('.')}. Check that this answers from here: "
        f"curl {JSON_API}. pip-audit asks PyPI itself, whatever index pip uses; a proxy or mirror that "
        "answers in its place has to have PyPI's JSON API (see HTTPS_PROXY and pip config list)."
    )


def faults(
    reports: Iterable[tuple[str, Mapping[str, Any]]], answers: Iterable[Answer], *, whole: bool
) -> list[str]:
    """What pip-audit reported and nobody answered, and answers that no report needs, if it is of all pins.

    An answer for a pin that was not looked up is needed as far as anyone knows.
    """
    known = {(answer.id, answer.package, answer.version) for answer in answers}
    wrong: dict[str, None] = {}
    needed: set[tuple[str, str, str]] = set()
    unseen: set[str] = set()
    for name, report in reports:
        if error := report.get("error"):
            wrong[f"{name}.txt could not be looked up: {error}"] = None
            whole = False
        for pin in report.get("dependencies", []):
            if reason := pin.get("skip_reason"):
                unseen.add(pin["name"])
                wrong[f"{pin['name']} of {name}.txt could not be looked up: {reason}"] = None
            for found in pin.get("vulns", []):
                ids = {(each, pin["name"], pin["version"]) for each in (found["id"], *found["aliases"])}
                needed |= ids
                if not ids & known:
                    fixed = ", ".join(found["fix_versions"]) or "no version"
                    wrong[f"{pin['name']} {pin['version']} has {found['id']}, fixed in {fixed}"] = None
    stale = sorted(each for each in known - needed if each[1] not in unseen) if whole else []
    return [
        *wrong,
        *(f"answers.yaml: {name} {version} has no {each} any more" for each, name, version in stale),
    ]


def _report(pins: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "pip_audit", *OPTIONS.split(), "--requirement", str(pins)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"pip-audit took more than {SECONDS} s"}
    try:
        return json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {"error": said[-1]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
