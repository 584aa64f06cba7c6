# SPDX-License-Identifier: Apache-2.0
"""What a sequence is made of: commands as root types them, each with what to wait for afterwards."""

from dataclasses import dataclass

BOND = "calibrate0"

FUNCTIONS = f"""
BOND={BOND}
pci() {{ echo "/sys/bus/pci/devices/$1"; }}
vf() {{ basename "$(readlink -f "$(pci "$1")/virtfn$2")"; }}
representor() {{
    for name in "$(pci "$1")"/net/*/phys_port_name; do
        case "$(cat "$name" 2>/dev/null)" in *vf"$2") basename "${{name%/*}}" ;; esac
    done
}}
driver() {{ echo "$2" >"/sys/bus/pci/drivers/mlx5_core/$1"; }}
lag() {{ cat "/sys/kernel/debug/mlx5/$PF0/lag/$1" 2>/dev/null; }}
"""
"""Of bash, for every command: ``vf $PF0 1`` is the second VF's address, ``representor $PF0 1`` its netdev.

Also set are $PF0 and $PF1, the ports' PCI addresses, and $NET0 and $NET1, their netdevs.
"""


@dataclass(frozen=True)
class Operation:
    """One thing that is done, and recorded.

    Attributes:
        name: unique in its sequence.
        command: of bash, with :data:`FUNCTIONS`.
        until: a condition of bash; the state is read when it holds, or after :data:`PATIENCE` anyway.

    """

    name: str
    command: str
    until: str = ""


@dataclass(frozen=True)
class Sequence:
    """Operations in their order, from a card in legacy mode without VFs and bond.

    Attributes:
        name: unique.
        purpose: the question that the sequence answers.
        operations: in their order.

    """

    name: str
    purpose: str
    operations: tuple[Operation, ...]


PATIENCE = 20
"""Seconds for a condition: twice what a LAG takes on a real card."""

RESET = """
ip link delete $BOND 2>/dev/null
for pf in $PF0 $PF1; do
    for device in "$(pci $pf)"/net/*; do tc qdisc del dev ${device##*/} ingress 2>/dev/null; done
    for function in "$(pci $pf)"/virtfn*; do
        bound=$(basename "$(readlink -f $function)")
        [ ! -e /sys/bus/pci/devices/$bound/driver ] || echo $bound >/sys/bus/pci/devices/$bound/driver/unbind
    done
    devlink dev eswitch set pci/$pf mode legacy
    echo 0 >"$(pci $pf)/sriov_numvfs"
    echo 1 >"$(pci $pf)/sriov_drivers_autoprobe"
    devlink dev eswitch set pci/$pf encap-mode basic
done
for device in $NET0 $NET1; do
    ip link set $device nomaster down
    dcb pfc set dev $device prio-pfc all:off
    dcb app flush dev $device
    ethtool -L $device combined $(ethtool -l $device | awk '/^Combined:/ {print $2; exit}') 2>/dev/null
done
udevadm settle
"""
"""Brings the card to where each sequence begins; settings that it already has are set again."""
