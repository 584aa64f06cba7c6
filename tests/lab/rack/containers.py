# SPDX-License-Identifier: Apache-2.0
"""A container on a node, as LXD would tell of it; the charms take it for a member of the cloud's clusters."""

from collections.abc import Iterable

from lab.rack.build import Rack

LXC = "/snap/bin/lxc"
RUN = "touch /run/container-runs"
"""Start it; it stops with a reboot."""

START_AT_BOOT = "touch /var/lib/lab/container-starts"
"""Start it, now and at each boot."""

ANSWER = """#!/bin/sh
# LXD's answer for one container, which runs when one of these files is there: the first goes with a reboot.
# Nothing of a clustered service is in it: whoever looks for their files finds none.
[ "$1" = query ] || exit 0
[ -e /run/container-runs ] || [ -e /var/lib/lab/container-starts ] && state=Running || state=Stopped
echo '[{"name": "juju-0-lxd-0", "status": "'$state'", "config": {"boot.autostart": "true"}}]'
"""


def create(rack: Rack, nodes: Iterable[str]) -> None:
    """One on each of these nodes; it runs."""
    rack.floor.each("a container", {name: lambda guest: guest.write(LXC, ANSWER, 0o755) for name in nodes})
    for name in nodes:
        rack.on(name, RUN)


def remove(rack: Rack, nodes: Iterable[str]) -> None:
    """None of these nodes has one, nor an LXD."""
    for name in nodes:
        rack.on(name, f"rm -f {LXC} /run/container-runs /var/lib/lab/container-starts")
