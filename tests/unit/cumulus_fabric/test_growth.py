# SPDX-License-Identifier: Apache-2.0
"""The work of expanding, auditing and rendering a fabric grows no faster than what is rendered.

Calls of Python functions are counted, which are the same on each machine; ``tests/bench/fabric.py`` measures
processor time.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any

import audit
from bench.fabric import intent
from intent import expand, schema
from intent.model import Dialect, Fabric
from tree import Tree, commands, leaves, render

SMALL, LARGE = (4, 8, 64), (8, 32, 256)
"""Spines, leaves, hosts: as the bench's largest sizes, a quarter of each."""

CALLS_PER_SETTING = 15
"""Calls for each setting of the rendered trees, all in all."""


def rendered(text: str) -> tuple[Fabric, list[Tree]]:
    """Do the work of ``audit`` and ``render``."""
    fabric = expand.expand(schema.parse(text))
    assert not [each for each in audit.audit(fabric) if each.severity]
    trees = [render.tree(fabric, switch, Dialect.UNTIL_5_14) for switch in fabric.switches]
    for tree in trees:
        commands.write(tree, Dialect.UNTIL_5_14)
    return fabric, trees


def calls(run: Callable[[], Any], of: Callable[..., Any] | None = None) -> int:
    """How many Python functions are called, or how often this one."""
    count = 0
    code = of and of.__code__

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" and code in (None, frame.f_code)

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # Hypothesis is called at each collection
    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def test_the_work_grows_as_what_is_rendered() -> None:
    found: list[tuple[int, int]] = []
    for size in (SMALL, LARGE):
        text = intent(*size)
        _, trees = rendered(text)  # fills the caches of names, as the switches before do in a large fabric
        settings = sum(1 for tree in trees for _ in leaves(tree))
        found.append((calls(lambda text=text: rendered(text)), settings))
    (few, little), (many, much) = found
    assert many / few <= much / little
    assert many / much <= CALLS_PER_SETTING


def test_vlans_of_a_port_are_named_at_once() -> None:
    """A range of provider VLANs is on each bond: a thousand VLANs must not be a thousand steps there."""

    def tree(vlans: int) -> Tree:
        bond = {
            "type": "bond",
            "bridge": {"domain": {"br_default": {"vlan": {str(2 + n): {} for n in range(vlans)}}}},
        }
        return {"interface": {f"bond{n}": bond for n in range(4)}}

    def steps(vlans: int) -> int:
        commands.write(tree(vlans), Dialect.UNTIL_5_14)  # fills the cache
        return calls(lambda: commands.write(tree(vlans), Dialect.UNTIL_5_14))

    assert commands.write(tree(1000), Dialect.UNTIL_5_14).typed == (
        "nv set interface bond0-3 bridge domain br_default vlan 2-1001",
    )
    assert steps(1000) == steps(10)
