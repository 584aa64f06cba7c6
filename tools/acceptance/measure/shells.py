# SPDX-License-Identifier: Apache-2.0
"""Shells on servers, by ssh, and on compute nodes, by Juju."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from converge import StepError
from operate.client import Juju, mapping
from operate.computes import places
from operate.process import WORDS, Process, last_words
from operate.together import side_by_side

UPLINKS = """\
first() {
    line=
    { read -r line < "$1"; } 2> /dev/null || true
}
uplinks() (
    cd /sys/class/net || exit
    for netdev in *; do
        first "$netdev/device/sriov_numvfs"
        [ "0$line" -gt 0 ] || continue
        # The PF is also the device of the VFs' representors: pf0vf0.
        first "$netdev/phys_port_name"
        case $line in *pf*) continue ;; esac
        echo "$netdev"
    done
)
"""
"""Functions of bash: `uplinks` prints a node's ports with VFs, which carry the tenants' networks. `first`
puts the first line of a file into $line, or nothing if it cannot be read.

Bonds of other NICs, such as a management bond, are not among them. There is no ${}, which systemd would
replace where the sampler is one of its units. No file is read by a process of its own:
a node is asked before and after each rung, and what that costs is part of what the node spends.
"""


def netdev_of(address: str) -> str:
    """The shell's words for the netdev that has an address; empty where none has it."""
    family = 6 if ":" in address else 4
    return f"$(ip -br -{family} address | awk '/ {address}\\//{{print $1}}')"


def add_address(own: str, address: str) -> str:
    """A script that gives the netdev with an IPv4 address an IPv6 address, too: no router announces it."""
    return f"""\
netdev={netdev_of(own)}
{{ echo 0 > /proc/sys/net/ipv6/conf/$netdev/disable_ipv6; }} 2> /dev/null || true
ip -6 address replace {address}/64 dev $netdev nodad
"""


class Shell(Protocol):
    """Root's shell on some machine."""

    def run(self, script: str, seconds: float) -> str:
        """Run a bash script and return its standard output.

        Raises:
            StepError: the machine cannot be reached, or the script fails.

        """
        ...


class Ssh:
    """A server, at its floating IP. `known` is the file for its host key, one for each server."""

    def __init__(self, run: Process, name: str, login: str, key: Path, known: Path) -> None:
        self._run, self._name, self._login = run, name, login
        self.command = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
        self.command += ["-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={known}"]
        self.command += [*(["-i", str(key)] if key.exists() else []), login]

    def run(self, script: str, seconds: float) -> str:
        # All of the script is read first: a command in it would otherwise read the rest as its input.
        output = self._run([*self.command, 'sudo bash -c "$(cat)"'], script, seconds + 30)
        if output.status == 255:  # ssh's own
            remedy = f"try: ssh {self._login}; see: openstack console log show {self._name}"
            raise StepError(f"{self._name} cannot be reached by ssh: {last_words(output)}", remedy)
        if output.status:
            raise StepError(f"{self._name}: {last_words(output)}")
        return output.text


class Node:
    """A compute node, through Juju: root's shell by `juju exec`, and the actions of the charms on it.

    `units` has the unit of each charm there.
    """

    def __init__(self, juju: Juju, name: str, units: Mapping[str, str]) -> None:
        self._juju, self.name, self.units = juju, name, units

    def run(self, script: str, seconds: float) -> str:
        unit = self.units["nova-compute"]
        told = self._juju.execute(unit, script, wait=seconds + 60)
        results = mapping(told.get("results"))
        if results.get("return-code") != 0:
            error = results.get("stderr") or told.get("message") or "no answer"
            raise StepError(f"{self.name}: {str(error).strip().splitlines()[-1][:WORDS]}")
        return results.get("stdout", "")

    def table(self, charm: str, action: str, result: str) -> list[dict[str, str]]:
        """The rows that an action of one of this repository's charms prints."""
        if charm not in self.units:
            raise StepError(f"{self.name} has no unit of {charm}", f"deploy {charm} there; see: juju status")
        text: Any = self._juju.results(self.units[charm], action, "format=json").get(result)
        try:
            rows: Any = json.loads(text)
            return [{str(key): str(cell) for key, cell in row.items()} for row in rows]
        except (ValueError, TypeError, AttributeError, RecursionError):
            what = f"action {action} of {self.units[charm]} prints no table {result}"
            raise StepError(what, "use this tool in the revision of the deployed charms") from None


def nodes(juju: Juju, hosts: list[str]) -> dict[str, Node]:
    """The compute nodes with these names of Nova's, by name; Juju knows the machines without their domain.

    Raises:
        StepError: Juju has no unit of nova-compute there.

    """
    found: dict[str, Node] = {}
    for place in places(juju.data("status")):
        found |= {host: Node(juju, host, place.units) for host in hosts if place.has_name(host)}
    for host in hosts:
        if host not in found:
            raise StepError(
                f"Juju has no unit of nova-compute on {host}", "juju switch MODEL; see: juju status"
            )
    return found


def hosting(juju: Juju, servers: dict[str, str]) -> dict[str, Node]:
    """The compute node of each server, by the ids in libvirt, as Nova tells it to administrators only.

    Several are asked at a time. One that does not answer matters only if a server is on none of the others.

    Raises:
        StepError: Juju does not answer, or a server is on none of its compute nodes.

    """
    computes = [Node(juju, place.host, place.units) for place in places(juju.data("status"))]
    said = side_by_side(
        lambda node: node.run("virsh -q list --all --uuid", 60).split(),
        computes,
        "compute nodes asked",
    )
    found: dict[str, Node] = {}
    silent: list[StepError] = []
    for node, there in zip(computes, said):
        if isinstance(there, StepError):
            silent.append(there)
        else:
            found |= {vm: node for vm, number in servers.items() if number in there}
    for vm in servers:
        if vm not in found:
            if silent:
                raise silent[0]
            raise StepError(
                f"{vm} is on no unit of nova-compute of this model", "juju switch MODEL; see: juju status"
            )
    return found
