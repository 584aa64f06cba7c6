# SPDX-License-Identifier: Apache-2.0
"""The conditions on a host and its card before the sequences may change anything there; reads only."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from hostnic.firmware.vpd import serial_in

from lab.calibrate.sequence import Sequence
from lab.calibrate.shell import Card, CardError

UNIT = "ovn-offload-calibrate"
"""Of systemd, on the host: the timer that puts the card back, and its service."""
TOOLS = "devlink ip ethtool tc dcb mstconfig systemctl systemd-run udevadm base64 awk sed mktemp flock"
ROUTES = "== routes =="

FACTS = f"""
[ "$(id -u)" = 0 ] || echo "user $(id -un)"
for tool in {TOOLS}; do command -v $tool >/dev/null || echo "lacks $tool"; done
for agent in /var/lib/juju/agents/*; do [ ! -e $agent ] || echo "agent ${{agent##*/}}"; done
[ ! -e /sys/class/net/$BOND ] || echo "taken $BOND"
! systemctl -q is-active {UNIT}.timer {UNIT}.service 2>/dev/null || echo "armed {UNIT}"
echo "client ${{SSH_CONNECTION%% *}}"
for device in /sys/bus/pci/drivers/mlx5_core/*:*:*.*; do
    [ -e $device/physfn ] || echo "vpd ${{device##*/}} $(base64 -w0 $device/vpd 2>/dev/null)"
done
uppers() {{
    local upper kind
    for upper in $1/upper_*; do
        [ -e $upper ] || continue
        upper=${{upper##*/upper_}} kind=upper
        [ ! -e /sys/class/net/$upper/bonding ] || kind=bonded
        echo "$kind ${{1##*/}} $upper"
    done
}}
for pf in $PF0 $PF1; do
    for device in $(pci $pf)/net/*; do
        [ -e $device ] || continue
        echo "netdev ${{device##*/}}"
        uppers $device
        case "$(tc qdisc show dev ${{device##*/}} 2>/dev/null)" in
            *"qdisc ingress"* | *"qdisc clsact"*) echo "qdisc ${{device##*/}}" ;;
        esac
    done
    for function in $(pci $pf)/virtfn*; do
        [ -e $function ] || continue
        vf=$(readlink -f $function) driver=$(readlink $function/driver) names=
        vf=${{vf##*/}} driver=${{driver##*/}}
        for device in $function/net/*; do
            [ -e $device ] || continue
            names="$names ${{device##*/}}"
            echo "netdev ${{device##*/}}"
            uppers $device
            [ $(($(cat $device/flags) & 1)) = 0 ] || echo "used $vf its netdev ${{device##*/}} is up"
        done
        for device in $function/vdpa*; do [ ! -e $device ] || echo "used $vf it has a vDPA device"; done
        case $driver in
            "") ;;
            mlx5_core) [ -n "$names" ] || echo "used $vf its netdev is in another network namespace" ;;
            *) echo "used $vf it is bound to $driver" ;;
        esac
        echo "vf $vf"
    done
done
echo "{ROUTES}"
ip -j route show table all
echo "{ROUTES}"
ip -j -6 route show table all
echo "{ROUTES}"
case $SSH_CONNECTION in "" | *%*) ;; *) ip -j route get ${{SSH_CONNECTION%% *}} ;; esac
"""
"""For bash, after the functions of :mod:`lab.calibrate.sequence`: a fact a line, and routes as JSON."""

EVERY_PORT_HAS = re.compile(r"(fe80:|ff00::/8|multicast)")
"""Routes of IPv6 that the kernel gives every port that is up."""
WRITES_FIRMWARE = re.compile(
    r"\b(mst|mlx)(config\b(?!.*\bquery\b)|fwreset|fwmanager|reg|mcra)|\b(mst)?flint\b|"
    r"devlink dev (flash|reload)|cmode (permanent|driverinit)"
)


def check(card: Card, sequences: Iterable[Sequence]) -> str:
    """Read the host, and return the card's serial number.

    Raises:
        CardError: the card is in use, or the host is not fit; a sentence for each reason.

    """
    done = card.run(FACTS)
    text, *routes = done.stdout.split(f"{ROUTES}\n")
    if len(routes) != 3:
        raise CardError(f"the host could not be read: {done.stderr.strip()}")
    facts: dict[str, list[str]] = {}
    for line in text.splitlines():
        kind, _, fact = line.partition(" ")
        facts.setdefault(kind, []).append(fact)
    serials = {
        bdf: serial_in(base64.b64decode(vpd))
        for bdf, _, vpd in (fact.partition(" ") for fact in facts.get("vpd", []))
    }
    reasons = [
        *of_host(facts),
        *of_serial(card, serials),
        *of_card(facts),
        *of_routes(facts, routes),
        *(
            f"{each.name} would write to the firmware: {operation.command}"
            for each in sequences
            for operation in each.operations
            if WRITES_FIRMWARE.search(operation.command)
        ),
    ]
    if reasons:
        raise CardError("\n".join(["The sequences are not run, and nothing was changed:", *reasons]))
    return serials[card.addresses[0]]


def of_host(facts: dict[str, list[str]]) -> Iterator[str]:
    """Why the host is not fit."""
    for user in facts.get("user", []):
        yield f"{user} is not root there: name root@HOST."
    if lacking := facts.get("lacks"):
        yield f"the host lacks {', '.join(lacking)}: install them."
    for agent in facts.get("agent", []):
        yield f"a Juju agent, {agent}, is on the host, and its charms own the card: take a host without Juju."
    for name in facts.get("taken", []):
        yield f"the host has a netdev {name}, which the sequences would make and delete: remove it."
    for unit in facts.get("armed", []):
        yield f"another calibration is under way or was lost; wait until {unit} has put its card back."


def of_serial(card: Card, serials: dict[str, str]) -> Iterator[str]:
    """Why it is not certain which card it is."""
    serial = serials.get(card.addresses[0], "")
    if not serial:
        yield f"{card.addresses[0]} does not tell its serial number (lspci -vv shows it as [SN])."
        return
    for bdf, other in serials.items():
        if bdf not in card.addresses and other == serial:
            yield f"{bdf} is of the same card: only cards with two ports can be calibrated."


def of_card(facts: dict[str, list[str]]) -> Iterator[str]:
    """Who uses the card's ports and VFs."""
    for words in (fact.split() for fact in facts.get("bonded", [])):
        yield f"{words[0]} is a member of {words[1]}: take it out of the bond."
    for words in (fact.split() for fact in facts.get("upper", [])):
        yield f"{words[0]} is below {words[1]}: remove {words[1]}, or take the port out of it."
    for name in facts.get("qdisc", []):
        yield f"{name} has an ingress qdisc, whose rules would be lost: remove it."
    used: dict[str, list[str]] = {}
    for vf, _, why in (fact.partition(" ") for fact in facts.get("used", [])):
        used.setdefault(vf, []).append(why)
    for vf, whys in used.items():
        yield f"the VF {vf} is in use: {' and '.join(whys)}."
    if idle := [vf for vf in facts.get("vf", []) if vf not in used]:
        yield f"the card has VFs, which would be lost: write 0 to sriov_numvfs ({', '.join(idle)})."


def of_routes(facts: dict[str, list[str]], answers: list[str]) -> Iterator[str]:
    """Which traffic of the host goes through the card, the connection itself included."""
    names = set(facts.get("netdev", []))
    *tables, back = (json.loads(answer or "[]") for answer in answers)
    told = set()
    for route in (route for table in tables for route in table):
        for name in devices(route) & names:
            if not EVERY_PORT_HAS.match(route.get("dst", "")) and name not in told:
                told.add(name)
                yield f"{name} carries a route, {route['dst']}: remove its addresses and routes."
    client = facts.get("client", [""])[0]
    through = {client.partition("%")[2], *(name for route in back for name in devices(route))} & names
    for name in sorted(through - told):
        yield f"this connection goes through {name}: reach the host through another NIC."


def devices(route: dict[str, Any]) -> set[str]:
    """The netdevs of a route, of all its next hops."""
    return {hop["dev"] for hop in (route, *route.get("nexthops", ())) if "dev" in hop}
