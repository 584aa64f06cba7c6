# SPDX-License-Identifier: Apache-2.0
"""The commands in the project's documents: in blocks that begin with one, after `$ `, and in sentences."""

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
DESCRIPTIONS = sorted(ROOT.glob("charms/*/charmcraft.yaml"))
"""Charmhub shows the description of a charm, and no other file of it."""
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(ROOT.glob("bundles/*.md")),
    *sorted(ROOT.glob("overlays/*.md")),
    *sorted(ROOT.glob("tools/**/*.md")),
    *sorted(ROOT.glob("charms/*/*.md")),
    *DESCRIPTIONS,
    *(path for path in sorted(ROOT.glob("docs/**/*.md")) if "generated" not in path.parts),
    *sorted(ROOT.glob("tests/**/README.md")),
]
FIRST = (
    *(
        "juju",
        "editor",
        "pipx",
        "sudo",
        "maas",
        "openstack",
        "git",
        "cp",
        "mkdir",
        "(umask",
        "for",
        "openssl",
        "apt-get",
    ),
    *("systemctl", "rm", "make", "ssh", "ping", "iperf3", "tcpdump", "gh", "jq", "wget", "echo", "export"),
)
"""First words of commands; a block that begins with another word is output or a drawing."""
INLINE = re.compile(r"`((?:juju|pipx|maas|sudo|openstack|openssl|apt-get) [^`\n]+|netplan (?:apply|get))`")
"""Commands in a sentence; of Juju's and MAAS' it may be the verb alone."""
MENTIONED = re.compile(r"`(tox -e [^`\n]+)`")
"""Commands that a sentence names, possibly without their arguments."""
COMMENT = re.compile(r"\s#\s.*$")
PLACEHOLDER = re.compile(r"<(\w+)>")
FENCES = ("", "sh")


class Command(NamedTuple):
    """One command as it stands in a document; a loop, and lines joined by a backslash, are one."""

    document: str
    line: int
    text: str

    @property
    def simple(self) -> list[list[str]]:
        """The words of each simple command in it, without redirections."""
        lexer = shlex.shlex(PLACEHOLDER.sub(r"\1", self.text), posix=True, punctuation_chars=True)
        lexer.commenters, lexer.whitespace_split = "", True
        found: list[list[str]] = [[]]
        skip = False
        for word in lexer:
            if skip or word in ("do", "done"):
                skip = False
            elif word in (">", "<", ">>"):
                skip = True
            elif set(word) <= set("();&|"):
                found.append([])
            else:
                found[-1].append(word)
        return [words for words in found if words]

    @property
    def redirected(self) -> bool:
        """Whether its output goes into a file."""
        return re.search(r"\s>\s*\S", PLACEHOLDER.sub("", self.text)) is not None


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Fenced and indented blocks, each with the number of its first line."""
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("```"):
            end = next(n for n in range(number + 1, len(lines)) if lines[n].startswith("```"))
            if line.removeprefix("```").strip() in FENCES:
                yield number + 2, lines[number + 1 : end]
            number = end + 1
        elif line.startswith("    ") and not lines[number - 1].strip():
            start = number
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                number += 1
            yield start + 1, textwrap.dedent("\n".join(lines[start:number])).splitlines()
        else:
            number += 1


def begins(lines: list[str]) -> bool:
    """Whether a block begins with a command, so that each of its lines is one, or a part of one."""
    words = next((line.split() for line in lines if line.strip()), [""])
    return words[0] in FIRST


def parts(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that a reader types, with the number of the first: of whole blocks, or what follows `$ `."""
    for first, lines in _blocks(markdown(path).splitlines()):
        if begins(lines):
            yield first, lines
            continue
        for start in (number for number, line in enumerate(lines) if line.startswith("$ ")):
            end = next(number for number in range(start, len(lines)) if not lines[number].endswith("\\"))
            yield first + start, [lines[start].removeprefix("$ "), *lines[start + 1 : end + 1]]


def joined(first: int, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Commands of a block, one by one, each with the numbers of its first and its last line."""
    text, start = "", first
    for number, raw in enumerate(lines, first):
        line = COMMENT.sub("", raw).strip()
        if not line or line.startswith("#"):
            continue
        start = start if text else number
        text += line.removesuffix("\\")
        if line.endswith("\\") or _quoting(text):
            text = f"{text.strip()} "
        elif text.startswith("for ") and not text.endswith("done"):
            text += " " if text.endswith("do") else "; "
        else:
            yield start, number, text
            text = ""
    assert not text, f"a command does not end: {text}"


def _quoting(text: str) -> bool:
    """Whether a quotation goes on in the next line."""
    try:
        shlex.split(text)
    except ValueError:
        return True
    return False


def markdown(path: Path) -> str:
    """A document in Markdown: the file, or the description in it."""
    return yaml.safe_load(path.read_text())["description"] if path in DESCRIPTIONS else path.read_text()


def blocks(path: Path) -> list[Command]:
    """The commands that a reader types, in their order."""
    name = str(path.relative_to(ROOT))
    return [
        Command(name, number, text)
        for first, lines in parts(path)
        for number, _, text in joined(first, lines)
    ]


def inline(path: Path, pattern: re.Pattern[str] = INLINE) -> list[Command]:
    """The commands in sentences and tables."""
    name = str(path.relative_to(ROOT))
    return [
        Command(name, number, words)
        for number, line in enumerate(markdown(path).splitlines(), 1)
        if not line.startswith("    ")
        for words in pattern.findall(line)
    ]


def steps(path: Path) -> dict[str, list[Command]]:
    """The commands of each numbered section: `## 3. Juju`."""
    found: dict[str, list[Command]] = {}
    heads = [
        (number, line)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.startswith("## ")
    ]
    for command in blocks(path):
        head = [line for number, line in heads if number < command.line][-1:]
        if head and re.match(r"## \d+\. ", head[0]):
            found.setdefault(head[0].split()[1], []).append(command)
    return found
