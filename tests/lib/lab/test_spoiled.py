# SPDX-License-Identifier: Apache-2.0
"""Wrong settings of a node: measured on their rung only, mended whatever happens, judged by what is said."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from acceptance.measure.ladder import RUNGS, Rung
from lab.rack.spoiled import SETTINGS, spoiled

TOLD = {
    "host": ("Host to host", "MTU (the largest unfragmented packet arrives: 0 received)"),
    "vf": ("VF on Geneve", "offload (share of packets that the NICs forwarded: 51.00%)"),
}


@dataclass(frozen=True)
class Around:
    """Of the tool's, what is replaced."""

    rungs: tuple[Rung, ...] = RUNGS


class Person:
    """Runs the tool, which finds what is wrong on the rung that it measures, or nothing at all."""

    def __init__(self, finds: bool = True) -> None:
        self.nodes, self.around, self.finds = ["node-0", "node-1"], Around(), finds
        self.done: list[tuple[str, str]] = []
        self.rack = SimpleNamespace(on=lambda node, command, timeout: self.done.append((node, command)))

    def run(self, verb: str) -> tuple[int, str]:
        (rung,) = self.around.rungs
        self.done.append((verb, f"{rung.key} {' '.join(rung.measures)}"))
        return int(self.finds), ""

    def report(self) -> dict[str, Any]:
        subject, what = TOLD[self.around.rungs[0].key]
        return {"explanation": [{"subject": subject, "what": what}] if self.finds else []}


def test_each_setting_is_wrong_only_while_its_rung_is_measured() -> None:
    person = Person()
    assert [check.holds for check in spoiled(person)] == [True, True]  # type: ignore[arg-type]
    mtu, offload = SETTINGS
    assert person.done == [
        ("node-1", mtu.wrong),
        ("measure", "host tcp-1"),
        ("node-1", mtu.right),
        ("node-1", offload.wrong),
        ("measure", "vf tcp-1"),
        ("node-1", offload.right),
    ]
    assert person.around == Around()


def test_a_loss_that_is_not_found_or_found_elsewhere_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [check.holds for check in spoiled(Person(finds=False))] == [False, False]  # type: ignore[arg-type]
    monkeypatch.setitem(TOLD, "vf", ("VF on Geneve", "host tuning (throughput of a VF: 50%)"))
    assert [check.holds for check in spoiled(Person())] == [True, False]  # type: ignore[arg-type]


def test_a_setting_is_mended_when_the_tool_breaks_off() -> None:
    person = Person()

    def breaks(verb: str) -> tuple[int, str]:
        raise TimeoutError("node-1 does not answer")

    person.run = breaks  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        spoiled(person)  # type: ignore[arg-type]
    assert person.done == [("node-1", SETTINGS[0].wrong), ("node-1", SETTINGS[0].right)]
