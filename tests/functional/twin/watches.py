# SPDX-License-Identifier: Apache-2.0
"""The ARP packets of the twin's hosts while something is done: seen by tcpdump on their bonds."""

from collections.abc import Iterable

from functional.twin.rack import Rack, stop

WAYS = ("in", "out")


class Watches:
    """A capture of ARP for each host and way, for as long as the ``with`` block lasts."""

    def __init__(self, rack: Rack, hosts: Iterable[str]) -> None:
        self._rack = rack
        self._files = {(host, way): f"/run/arp-{host}-{way}" for host in hosts for way in WAYS}

    def __enter__(self) -> "Watches":
        started = [
            f"setsid ip netns exec {host} tcpdump -l --immediate-mode -Q {way} -nei bond0 arp "
            f">{file} 2>{file}.log </dev/null & echo $!"
            for (host, way), file in self._files.items()
        ]
        self._pids = self._rack.guest.run("\n".join(started)).stdout.split()
        for file in self._files.values():
            self._rack.guest.run(f"until grep -q '^listening' {file}.log; do sleep 0.1; done", timeout=120)
        return self

    def __exit__(self, *_: object) -> None:
        stop(self._rack, self._pids)

    def counts(self, who: str, way: str, hosts: Iterable[str]) -> list[int]:
        """How many questions for an address each host has seen so far."""
        files = [self._files[host, way] for host in hosts]
        return [self._rack.guest.read(file).count(f"who-has {who} ") for file in files]

    def all_saw(self, who: str, way: str, hosts: Iterable[str]) -> bool:
        """Whether each host has seen at least one."""
        return 0 not in self.counts(who, way, hosts)


def ask(rack: Rack, host: str, who: str) -> None:
    """Have a host's kernel look for an address that nobody has, until it has given up."""
    rack.on(host, f"ping -c 1 -W 1 {who}", check=False)
    rack.until(
        lambda: "FAILED" in rack.on(host, f"ip neighbour show {who}"), 60, f"{host} does not give {who} up"
    )
