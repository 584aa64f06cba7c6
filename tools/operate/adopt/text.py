# SPDX-License-Identifier: Apache-2.0
"""How an adoption is read in a terminal."""

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from converge.finding import one_line
from converge.render import PLAN_WIDTH, table
from operate.adopt.adoption import Adoption
from operate.adopt.steps import Step

NOTHING = "No hypervisor of this model offloads: there is nothing to adopt (docs/how-to/prepare-a-node.md)."
MOST = PLAN_WIDTH - 50
"""Columns after which a command continues on another line, unless an option lacks its value."""
LEFT = "No step is left: what offloads is adopted."
OVERLAY = """The overlay, which says what the steps do. Keep it with your bundle, in a clone with the packed
charms in build/: without it, the next juju deploy of the bundle would set sriov-numvfs back"""


def text(name: str, found: Adoption, model: str = "") -> str:
    """The answer about the model of this name; `model` is how commands name it, empty for the current one."""
    steps = _titled("Steps, in this order", _steps(found.steps, model))
    reboot = "\n".join(_filled(each, "- ") for each in found.reboot)
    judged = "What the checker finds with it" if found.overlay else "What the checker finds"
    rows = [(each.rule, each.what, each.instead) for each in found.findings]
    parts = (
        f"{name} was read, and nothing was written.",
        _titled("What these charms own, or would own", _table(("charm", "what", "today"), found.owned)),
        _titled("What their units say now", _table(("unit", "status"), found.said)),
        _titled("What stays as it is", _table(("what", "why"), found.stays)),
        steps or (LEFT if found.owned else NOTHING),
        _titled(OVERLAY, found.overlay.rstrip()),
        _titled(judged, _table(("rule", "what", "what to do"), rows)),
        _titled("What the first reboot of a node changes", reboot),
        _titled("What Juju does not know, and what shows it", _steps(found.unseen, model, "- ")),
    )
    return "\n\n".join(filter(None, parts))


def _titled(title: str, body: str) -> str:
    """Return a text below its title; empty without a text."""
    return f"{_filled(title, '')}:\n\n{body}" if body else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(header, rows, PLAN_WIDTH) if rows else ""


def _steps(steps: Sequence[Step], model: str, mark: str = "") -> str:
    lines: list[str] = []
    for number, step in enumerate(steps, 1):
        lines.append(_filled(step.why, mark or f"{number}. "))
        lines += [f"     {line}" for words in step.commands for line in _command(words, model)]
    return "\n".join(lines)


def _filled(sentence: str, mark: str) -> str:
    indent = " " * len(mark)
    return textwrap.fill(
        one_line(sentence), PLAN_WIDTH, initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False
    )


def _command(words: Sequence[str], model: str) -> Iterator[str]:
    """A command for a shell, in several lines where it would be too long for one."""
    named = [*words]
    if model:
        named = [*words[:2], "-m", model, *words[2:]] if words[0] == "juju" else [*words, "--model", model]
    line = ""
    for word in map(shlex.quote, map(one_line, named)):
        pair = line.rpartition(" ")[2].startswith("--")
        if line and not pair and len(line) + len(word) > MOST:
            yield f"{line} \\"
            line = f"    {word}"
        else:
            line = f"{line} {word}" if line else word
    yield line
