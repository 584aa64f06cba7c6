# SPDX-License-Identifier: Apache-2.0
"""What prevents convergence, found before anything is written. Pure."""

from converge import Finding, Severity
from desired import Desired
from hostnic.netlink.dcb import HOST, dcbx_words
from observed import Observed


def preflight(wanted: Desired, observed: Observed) -> list[Finding]:
    """Report lldpad or firmware that controls data centre bridging, where the charm may not take it over."""
    found: list[Finding] = []
    if observed.lldpad and not wanted.takeover:
        what = "runs, and sets data centre bridging, too"
        found.append(Finding(Severity.BLOCKED, "lldpad", what, "remove it, or set dcbx-takeover=true"))
    for port in observed.among(wanted.ports):
        if port.dcb is None or wanted.takeover or port.driver.may_set(port.dcb):
            continue
        mode = port.dcb.dcbx or 0
        what = f"the firmware controls data centre bridging (DCBX mode {dcbx_words(mode)})"
        remedy = "set dcbx-takeover=true, or switch off DCBX in the NIC's firmware"
        if mode & HOST:
            what = f"its driver takes no settings in DCBX mode {dcbx_words(mode)}"
            remedy = "set dcbx-takeover=true, or leave the port out of option devices"
        elif port.driver.agent:
            remedy = f"{port.driver.agent.format(port.netdev)}; or leave it out of option devices"
        found.append(Finding(Severity.BLOCKED, port.netdev, what, remedy))
    return found
