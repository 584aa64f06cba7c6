# SPDX-License-Identifier: Apache-2.0
"""Scenarios openstack and machines: a real OpenStack on the converged rack, used by its operator.

The control plane (:mod:`lab.cloud`) is cabled to a leaf, has the rack's own OVN databases and the bundle's
options; nova-compute runs on the nodes. Servers are namespaces: :mod:`lab.cloud.compute.driver`.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from acceptance.asking import asking
from acceptance.plan import removal

from lab.checks import Check, equal
from lab.cloud import node, translate
from lab.cloud.cloud import Cloud
from lab.rack import checks, layout, ovn
from lab.rack.build import Rack
from lab.rack.common import verify
from lab.rack.emptied import emptied
from lab.rack.operator import AREA, MEASURES, SUBSTITUTED, UNTRACKED, WHOLE, Operator, operator
from lab.rack.servers import FREE, VIRSH, plugged
from lab.rack.spoiled import spoiled
from lab.rack.virtual import Machines

REPORTS = 1800
"""Seconds, as the guests could use them, until every nova-compute has told Placement what its node has."""
GATEWAY = "gateway"
"""The namespace of the reference design's external gateway, behind both leaves of rack 0."""
BOUND = "ovn-sbctl --bare --columns=up find Port_Binding type='\"\"'"
OWN = "|".join(ovn.mac(node) for node in range(layout.MOST))
ADDRESSES = f"ip link show | grep -o 'fa:16:3e[^ ]*' | grep -vxE '{OWN}'"
"""Prints servers' addresses; the instances that the lab itself had before leave theirs on their VFs."""
LEFT = (
    "ip netns list | grep -o 'instance-[^ ]*'; ovs-vsctl list-ports br-int | grep -E '^(tap|enp)'; "
    f"{ADDRESSES}; {VIRSH} list --name --all; "
    f"[ $({FREE}) = {node.PAGES} ] || echo 'large pages in use'"
)
"""Prints what a server has left on its node."""
SPEED = ("line-rate", "vf-to-host", "both-ports", "host-cpu", "failover", "neighbours")
"""Checks of the tool that say how fast a NIC is, what it saves, or how a switch hashes a few flows."""
TRACKED = ("vf-group", "north-south")
"""Rungs whose connections are tracked, so that their packets recirculate."""
EXTENSION = "grep -x CONFIG_NET_TC_SKB_EXT=y /boot/config-$(uname -r) || true"
"""By which a packet goes on in Open vSwitch where the classifier left it. Without it, as in Debian's kernels,
OVS gives the classifier no flow that recirculates ("recirc_id sharing not supported" in OVS'
lib/netdev-offload-tc.c): tracked connections do not run in the NIC."""
NO_EXTENSION = "OVS could not express it for the kernel's classifier"
"""The tool's words on them then."""


CAPTURE = "/usr/bin/tcpdump"
"""The kernel forwards in place of the virtual NIC, so that a capture of an uplink shows every packet.

The card counts which of them a NIC with its rules would have kept from the kernel. The tool has that left.
"""


def openstack(rack: Rack) -> list[Check]:
    """Servers on the rack's nodes, measured by the acceptance tool and deleted by it."""
    rack.on_nodes(f"chmod -x {CAPTURE}")
    return _on_openstack(rack, (plugged, reached, measured, spoiled))


def machines(rack: Rack) -> list[Check]:
    """Virtual machines with the acceptance tool's ports, on nodes that reboot and are emptied."""
    return _on_openstack(rack, (virtual,))


def _on_openstack(rack: Rack, parts: Sequence[Callable[[Operator], list[Check]]]) -> list[Check]:
    """Run the parts between the acceptance tool's `apply` and `destroy`."""
    with started(rack) as (cloud, found), operator(rack, cloud) as person:
        found += applied(person)
        if all(check.holds for check in found):
            for part in parts:
                found += part(person)
        found += destroyed(person)
    return [*found, *verify(rack)]


@contextlib.contextmanager
def started(rack: Rack) -> Iterator[tuple[Cloud, list[Check]]]:
    """The control plane on the rack's OVN databases, and nova-compute on each node."""
    options = rack.deployment.options
    rack.display.phase("OpenStack starts")
    rack.floor.each("instances end", dict.fromkeys(rack.nodes, ovn.no_instance))
    rack.on(layout.FABRIC, f"ovn-nbctl --if-exists ls-del {ovn.SWITCH}")
    compute = translate.nova_compute(options["nova-compute"])
    # They import for minutes, and wait for the control plane.
    rack.floor.each(
        "nova-compute",
        {
            name: partial(node.start, host=name, address=layout.address(number), options=compute)
            for name, number in rack.nodes.items()
        },
    )
    with Cloud(rack.control, layout.CONTROLLER, options) as cloud:
        connection = cloud.connect()
        asked = 0.0

        def reported() -> bool:
            nonlocal asked
            if time.monotonic() - asked < 5:
                return False
            asked = time.monotonic()
            return set(rack.nodes) <= node.reported(connection)

        there = rack.floor.work(reported, REPORTS)
        log = "" if there else _tail(rack)
        try:
            yield (
                cloud,
                [Check(AREA, "compute nodes with resources in Placement", "all", log or "all", there)],
            )
        finally:
            rack.floor.each("nova-compute ends", dict.fromkeys(rack.nodes, node.stop))


def _tail(rack: Rack) -> str:
    said = rack.on_nodes("tail -n 5 /var/log/cloud/nova-compute.log")
    return "; ".join(f"{name}: {text.strip()[-300:]}" for name, text in said.items())


def applied(person: Operator) -> list[Check]:
    """`apply`, and a second plan, which has nothing to do."""
    person.rack.display.phase("acceptance apply")
    status, said = person.run("apply")
    again, nothing = person.run("plan")
    hosts = [f"vm{n} on {name}" for n, name in enumerate(person.nodes, 1)]
    with asking("servers"):
        servers = sorted(person.connection.compute.servers(), key=lambda each: each.name)
    active = [f"{each.name} on {each.compute_host}" for each in servers if each.status == "ACTIVE"]
    done = again == 0 and "Nothing to do" in nothing
    return [
        Check(AREA, "acceptance apply", "exit status 0", _last(said), status == 0),
        equal(AREA, "servers that are ACTIVE", ", ".join(hosts), ", ".join(active)),
        Check(AREA, "acceptance plan afterwards", "nothing to do", _last(nothing), done),
    ]


def _last(said: str) -> str:
    return next(iter(reversed(said.strip().splitlines())), "")[:200]


def reached(person: Operator) -> list[Check]:
    """Floating IPs answer, and OVN has all ports up."""
    rack, objects = person.rack, person.door().objects
    found = [
        equal(
            AREA,
            f"vm{number}'s floating IP, from the gateway",
            "3 received",
            _pinged(rack, objects[f"floating ip normal{number}"]),
        )
        for number in range(1, len(person.nodes) + 1)
    ]
    bound = rack.on(layout.FABRIC, BOUND).split()
    found.append(equal(AREA, "servers' ports that OVN has up", str(bound.count("true")), str(len(bound))))
    return found


def _pinged(rack: Rack, floating: Mapping[str, Any]) -> str:
    """Return the output of a ping from the external network's gateway."""
    ping = f"ping -q -n -c 3 -i 0.5 -W 5 {floating['floating_ip_address']}"
    once = f"for i in 1 2 3 4 5 6; do {ping} -c 1 >/dev/null && break; done"
    return checks.received(
        rack.on(layout.FABRIC, f"ip netns exec {GATEWAY} sh -c '{once}; {ping}'", timeout=120)
    )


def measured(person: Operator) -> list[Check]:
    """`measure` and its report: every figure is there, packets of the MTU arrive, flows are in the NIC."""
    rack = person.rack
    rack.display.phase("acceptance measure")
    _, said = person.run("measure")
    told = person.report()
    if told is None:
        return [Check(AREA, "acceptance measure", "a report", _last(said), False)]
    rack.pages["openstack.html"] = (person.state / "report.html").read_text()
    rack.pages["openstack.json"] = json.dumps(told, indent=1) + "\n"
    left_out = () if all(rack.on_nodes(EXTENSION).values()) else TRACKED
    rack.substituted = (*SUBSTITUTED, UNTRACKED) if left_out else SUBSTITUTED
    found: list[Check] = []
    cpu = told["host-cpu"]
    spent = {(row["rung"], row["measure"]): max(row["nodes"].values()) for row in cpu["rows"]}
    for key, measures in MEASURES.items():
        result = told["results"]["rungs"].get(key, {"figures": {}, "problems": {"": "not reached"}})
        said = [
            f"{each} {figure['value']:.3g} {figure['unit']}, {spent.get((key, each), -1):.1f} host cores"
            for each, figure in result["figures"].items()
        ]
        said += [f"{each} {problem}".strip() for each, problem in result["problems"].items()]
        whole = set(result["figures"]) == set(measures) and not result["problems"]
        whole = whole and {(key, each) for each in measures} <= spent.keys()
        found.append(Check(AREA, f"rung {key}", WHOLE, "; ".join(said), whole))
    shown = cpu["sentence"] or "; ".join(cpu["unknown"])
    found.append(
        Check(
            AREA,
            "CPU of the host",
            "virtio beside the VF, with 8 pairs",
            shown,
            shown.startswith("At 8 pairs"),
        )
    )
    return [*found, *(_judged(each, left_out) for each in told["checks"] if each["check"] not in SPEED)]


def _judged(verdict: Mapping[str, str], left_out: Sequence[str]) -> Check:
    """One of the tool's verdicts, as it should be on emulated processors.

    Args:
        verdict: with its rung, check, state, what was measured, and the cause of a failure.
        left_out: rungs whose flows the nodes' kernel cannot have in the NIC, which the tool must say.

    """
    subject = f"rung {verdict['rung']}, {verdict['check']}"
    state, said, cause = (verdict[key] for key in ("state", "measured", "cause"))
    if verdict["check"] == "in-nic" and verdict["rung"] in left_out:
        good = state == "failed" and NO_EXTENSION in cause
        why = NO_EXTENSION if good else cause
        return Check(AREA, subject, f"failed: {NO_EXTENSION}", f"{state}: {said}: {why}", good)
    return Check(AREA, subject, "passed", f"{state}: {said}", state == "passed")


def virtual(person: Operator) -> list[Check]:
    """Virtual machines on two nodes: kept by the charm, through a reboot, moved by the operator's verbs."""
    machines = Machines(person)
    found = machines.start()
    if all(check.holds for check in found):
        found += [*plugged(person), *machines.held(), *machines.kept(), *machines.rebooted()]
        found += emptied(person, machines)
    machines.end()
    return found


def destroyed(person: Operator) -> list[Check]:
    """`destroy`, after which neither the cloud nor the nodes have anything of it."""
    rack = person.rack
    rack.display.phase("acceptance destroy")
    status, said = person.run("destroy")
    objects = ", ".join(step.what for step in removal(person.door().all).steps)
    left = {name: " ".join(text.split()) for name, text in rack.on_nodes(LEFT).items()}
    return [
        Check(AREA, "acceptance destroy", "exit status 0", _last(said), status == 0),
        equal(AREA, "objects that are left", "none", objects or "none"),
        *(
            equal(AREA, f"{name}: left of servers", "nothing", text or "nothing")
            for name, text in left.items()
        ),
    ]
