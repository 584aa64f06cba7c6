# SPDX-License-Identifier: Apache-2.0
"""Where a host and its fabric disagree: the same sentences on both sides of relation ``fabric``. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from charmkit.fabric import STRICT, Host, Marking, Policy, PortReport, Qos, Share


@dataclass(frozen=True)
class Difference:
    """One disagreement: the host's netdev or bond, and a sentence that names both sides' values."""

    subject: str
    what: str


def differences(policy: Policy, host: Host) -> tuple[Difference, ...]:
    """Everything in which ``host`` does not follow ``policy``, as far as both tell."""
    found = [Difference(port.netdev, what) for port in host.ports for what in _port(policy, port)]
    return (*found, *_partners(policy, host))


def _port(policy: Policy, port: PortReport) -> Iterator[str]:
    if policy.qos and port.qos:
        yield from _qos(policy.qos, port.qos)
    if port.mtu > policy.mtu.fabric:
        yield f"MTU {port.mtu}, more than the {policy.mtu.fabric} bytes that the fabric carries"
    elif port.mtu != policy.mtu.host:
        yield f"MTU {port.mtu}, the fabric expects {policy.mtu.host}"


def _qos(fabric: Qos, host: Qos) -> Iterator[str]:
    if host.trust != fabric.trust:
        yield f"trusts {host.trust}, the fabric {fabric.trust}"
    if host.pfc != fabric.pfc:
        yield f"PFC on {_priorities(host.pfc)}, the fabric on {_priorities(fabric.pfc)}"
    if host.roce != fabric.roce:
        yield f"RoCE is {_marking(host.roce)}, in the fabric {_marking(fabric.roce)}"
    if host.cnp != fabric.cnp:
        yield f"CNP is {_marking(host.cnp)}, in the fabric {_marking(fabric.cnp)}"
    if host.ets != fabric.ets:
        yield f"ETS is {_shares(host.ets)}, in the fabric {_shares(fabric.ets)}"


def _partners(policy: Policy, host: Host) -> Iterator[Difference]:
    bonds: dict[str, set[str]] = {}
    for port in host.ports:
        if port.bond and port.partner_mac:
            bonds.setdefault(port.bond, set()).add(port.partner_mac)
    for bond, partners in bonds.items():
        known = " ".join(f"{mac} ({rack})" for rack, mac in sorted(policy.segment_macs.items()))
        if len(partners) > 1:
            yield Difference(bond, f"its ports have different LACP partners: {' '.join(sorted(partners))}")
        elif known and not partners & set(policy.segment_macs.values()):
            yield Difference(bond, f"LACP partner {partners.pop()} is not a segment of the fabric: {known}")


def _priorities(pfc: tuple[int, ...]) -> str:
    return f"priority {' '.join(map(str, pfc))}" if pfc else "no priority"


def _marking(marking: Marking) -> str:
    return f"DSCP {marking.dscp} in priority {marking.priority}"


def _shares(ets: Mapping[int, Share]) -> str:
    words = (f"{tc}:{share}{'' if share == STRICT else '%'}" for tc, share in sorted(ets.items()))
    return " ".join(words)
