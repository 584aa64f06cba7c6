# SPDX-License-Identifier: Apache-2.0
"""Audits of RoCE: the same on all switches, and only what each platform supports. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from converge import Finding, Severity
from converge.finding import few
from intent.model import Fabric, Switch

CUMULUS_PRIORITY, CUMULUS_CNP_PRIORITY, CUMULUS_BANDWIDTH = 3, 6, 50
"""The only values of ``qos roce`` (NVIDIA: Quality of Service, RDMA over Converged Ethernet)."""


def everywhere_or_nowhere(fabric: Fabric) -> Iterator[Finding]:
    """A single switch without RoCE drops what all others carry without loss."""
    modes: dict[str, list[Switch]] = defaultdict(list)
    for switch in fabric.switches:
        modes[switch.roce].append(switch)
    if len(modes) > 1:
        usual = max(modes, key=lambda mode: len(modes[mode]))
        for mode in sorted(set(modes) - {usual}):
            for switch in modes[mode]:
                others = few([each.name for each in modes[usual]])
                what = f"RoCE is {mode} on {switch.name}, but {usual} on {others}"
                path = switch.place("roce") if "roce" in switch.overridden else "roce.mode"
                yield Finding(Severity.BLOCKED, path, what, f"use {usual} or {mode} everywhere")


def what_cumulus_can(fabric: Fabric) -> Iterator[Finding]:
    """``qos roce`` comes with its own priorities, bandwidth and thresholds."""
    roce = fabric.roce
    cumulus = [s.name for s in fabric.switches if s.platform == "cumulus" and s.roce != "off"]
    if not cumulus:
        return
    fixed = (
        ("priority", roce.priority, CUMULUS_PRIORITY),
        ("cnp-priority", roce.cnp_priority, CUMULUS_CNP_PRIORITY),
        ("bandwidth", roce.bandwidth or CUMULUS_BANDWIDTH, CUMULUS_BANDWIDTH),
    )
    for key, wanted, given in fixed:
        if wanted != given:
            what = f"qos roce on {few(cumulus)} sets {given}, not {wanted}"
            yield Finding(Severity.BLOCKED, f"roce.{key}", what, f"use {given}")
    if roce.ecn:
        what = f"qos roce on {few(cumulus)} accepts no thresholds"
        yield Finding(Severity.BLOCKED, "roce.ecn", what, "leave them out")
    for key, dscp, priority in (
        ("dscp", roce.dscp, CUMULUS_PRIORITY),
        ("cnp-dscp", roce.cnp_dscp, CUMULUS_CNP_PRIORITY),
    ):
        if dscp // 8 != priority:
            what = f"DSCP {dscp} maps to priority {dscp // 8} on {few(cumulus)}, not {priority}"
            yield Finding(
                Severity.BLOCKED,
                f"roce.{key}",
                what,
                f"use a value from {priority * 8} to {priority * 8 + 7}",
            )


def marks(fabric: Fabric) -> Iterator[Finding]:
    """RoCE, its congestion notifications and other traffic must be distinguishable."""
    roce = fabric.roce
    if roce.mode == "off":
        return
    if roce.priority == 0:
        what = "priority 0 carries all other traffic, which would become lossless too"
        yield Finding(Severity.BLOCKED, "roce.priority", what, "use a priority from 1 to 7")
    if roce.priority == roce.cnp_priority:
        what = f"RoCE and its congestion notifications both have priority {roce.priority}"
        yield Finding(Severity.BLOCKED, "roce.cnp-priority", what, "use different priorities")
    if roce.dscp == roce.cnp_dscp:
        what = f"RoCE and its congestion notifications both have DSCP {roce.dscp}"
        yield Finding(Severity.BLOCKED, "roce.cnp-dscp", what, "use different values")
    if roce.ecn and roce.ecn.low >= roce.ecn.high:
        what = f"the low threshold {roce.ecn.low} is not below the high threshold {roce.ecn.high}"
        yield Finding(Severity.BLOCKED, "roce.ecn.low", what, "set low below high")
