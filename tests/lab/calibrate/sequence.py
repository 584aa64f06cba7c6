# SPDX-License-Identifier: Apache-2.0
"""The parts of a sequence: commands as root types them, each with the condition to wait for afterwards."""

from dataclasses import dataclass

BOND = "calibrate0"

FUNCTIONS = f"""
BOND={BOND}
pci() {{ echo "/sys/bus/pci/devices/$1"; }}
says() {{ said=; read -rd "" said 2>/dev/null <"$1"; said=${{said//$'\\n'/ }}; }} 2>/dev/null
vf() {{ local link; link=$(readlink -f "/sys/bus/pci/devices/$1/virtfn$2"); echo "${{link##*/}}"; }}
representor() {{
    local name
    for name in /sys/bus/pci/devices/$1/net/*/phys_port_name; do
        says "$name"
        case $said in *vf"$2") name=${{name%/*}}; echo "${{name##*/}}" ;; esac
    done
}}
driver() {{ echo "$2" >"/sys/bus/pci/drivers/mlx5_core/$1"; }}
trained() {{
    local device
    for device in $NET0 $NET1; do says /sys/class/net/$device/carrier; [ "$said" != 0 ] || return; done
}}
lag() {{ says "/sys/kernel/debug/mlx5/$PF0/lag/$1"; echo "$said"; }}
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
[ ! -e /sys/class/net/$BOND ] || ip link delete $BOND
for port in 0 1; do
    pf=PF$port device=NET$port; pf=${!pf} device=${!device}
    for netdev in /sys/bus/pci/devices/$pf/net/*; do
        [ ! -e $netdev ] || tc qdisc del dev ${netdev##*/} ingress 2>/dev/null
    done
    for function in /sys/bus/pci/devices/$pf/virtfn*; do
        [ ! -e $function/driver ] || basename $(readlink -f $function) >$function/driver/unbind
    done
    devlink dev eswitch set pci/$pf mode legacy encap-mode basic
    echo 0 >/sys/bus/pci/devices/$pf/sriov_numvfs
    # In Linux 5.15 the end of the VFs is the end of the eswitch.
    devlink dev eswitch set pci/$pf mode legacy
    echo 1 >/sys/bus/pci/devices/$pf/sriov_drivers_autoprobe
    ip link set $device nomaster down
    ethtool -K $device hw-tc-offload off
done
udevadm settle
"""
"""Brings the card to where each sequence begins; sequences about settings put back what they set.

It touches the card's own ports, VFs and representors and the bond of a sequence, nothing else of the host.
"""
