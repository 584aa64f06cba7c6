# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch and OVN as ovn-central and ovn-chassis set them, and instances as Nova would plug them.

An instance is a namespace that owns a VF; its representor is the port of ``br-int``. A virtual machine
could not use a VF: the virtual card has no BARs.
"""

from hostnic.network import ovs

from lab.guest import Guest
from lab.rack import layout

DROP_IN = "/etc/systemd/system/ovn-controller.service.d/flow-restore-wait.conf"
MTU = 9000 - 58  # bytes left of the nodes' MTU by Geneve over IPv4
SWITCH = "tenant"
PF = "0000:3b:00.0"
INSTANCE = "instance"

REPRESENTOR = "grep -lx pf0vf0 /sys/class/net/*/phys_port_name 2>/dev/null | cut -d/ -f5"

SCRIPT = """\
#!/bin/sh
case $(ovs-vsctl --timeout=10 --if-exists get Open_vSwitch . external_ids:ovn-managed-flow-restore-wait) in
*true*) exec ovs-vsctl --timeout=10 --no-wait remove Open_vSwitch . other_config flow-restore-wait ;;
esac
"""
"""As ovn-chassis installs it (:data:`hostnic.network.ovs.CLEARS`): nodes reach the databases over br-nvda."""

AT_CONTROLLER = f"ip netns exec {layout.CENTRAL}"
"""Before a command that runs at the controller's address."""


ROOT = "/opt/central"
"""In the fabric's guest: the system of the nodes' release."""


def central_of_nodes(guest: Guest) -> None:
    """:func:`central` with the OVN of the nodes' release, whose image is the guest's further disk.

    An ovn-controller leaves out those flows of a newer northd that it cannot parse: with 24.03 below 25.03
    the commits of tracked connections, whose answers were then dropped.
    """
    guest.run(
        f"""set -e
mkdir -p /run/central/image /run/central/upper /run/central/work {ROOT}
mount -o ro,noload {guest.further_disk(0)} /run/central/image
over=lowerdir=/run/central/image,upperdir=/run/central/upper,workdir=/run/central/work
mount -t overlay -o $over overlay {ROOT}
for name in dev proc sys run; do mount --rbind /$name {ROOT}/$name; done
"""
    )
    central(guest, f"{AT_CONTROLLER} chroot {ROOT}")


def central(guest: Guest, inside: str = AT_CONTROLLER) -> None:
    """Databases and northd at the controller's address, or at the guest's own, without TLS."""
    insecure = "--db-nb-create-insecure-remote=yes --db-sb-create-insecure-remote=yes"
    guest.run(f"{inside} /usr/share/ovn/scripts/ovn-ctl {insecure} start_northd", timeout=300)


def chassis(guest: Guest, node: int, databases: str = layout.CONTROLLER) -> None:
    """A node's settings, and ovn-controller from now on and at each boot.

    Args:
        guest: the node.
        node: its number in the rack.
        databases: the address at which they answer.

    """
    settings = {
        "external-ids:system-id": f"node-{node}",
        "external-ids:ovn-remote": f"tcp:{databases}:6642",
        "external-ids:ovn-encap-type": "geneve",
        "external-ids:ovn-encap-ip": layout.endpoint(node),
        "external-ids:ovn-bridge-mappings": "tenantvlan:br-nvda",
        # Neutron up to 2024.1 takes any chassis with the mapping for a gateway, 2025.1 only these.
        "external-ids:ovn-cms-options": "enable-chassis-as-gw",
        "other_config:hw-offload": "true",
        "other_config:max-idle": "30000",
    }
    words = " ".join(f"{key}={value}" for key, value in settings.items())
    guest.run(f"ovs-vsctl --no-wait set Open_vSwitch . {words}")
    guest.write(ovs.CLEARS, SCRIPT, 0o755)
    guest.write(DROP_IN, f"[Service]\nExecStartPre=-{ovs.CLEARS}\n")
    guest.run("systemctl daemon-reload")
    guest.run("systemctl enable --now --quiet ovn-host.service ovn-controller.service", timeout=300)


def network(guest: Guest, nodes: int) -> None:
    """The tenants' switch with a port for an instance on each node."""
    lines = [f"-- --may-exist ls-add {SWITCH} -- set Logical_Switch {SWITCH} other_config:mcast_snoop=false"]
    for node in range(nodes):
        name, owner = f"{INSTANCE}-{node}", f"{mac(node)} {address(node)}"
        lines.append(f"-- --may-exist lsp-add {SWITCH} {name} -- lsp-set-addresses {name} '{owner}'")
    guest.run(f"ovn-nbctl {' '.join(lines)}")


def mac(node: int) -> str:
    """An instance's."""
    return f"fa:16:3e:00:00:{node:02x}"


def address(node: int) -> str:
    """An instance's."""
    return f"10.0.101.{11 + node}"


def instance(guest: Guest, node: int) -> None:
    """Plug the first VF of the first port, and give it to an instance; again after a reboot."""
    guest.run(
        f"""set -e
if ! ip netns list | grep -qw {INSTANCE}; then
    vf=$(ls /sys/bus/pci/devices/{PF}/virtfn0/net)
    ip netns add {INSTANCE}
    ip link set $vf netns {INSTANCE} name eth0
    ip -n {INSTANCE} link set eth0 address {mac(node)} mtu {MTU}
    ip -n {INSTANCE} link set eth0 up
    ip -n {INSTANCE} address add {address(node)}/24 dev eth0
fi
rep=$({REPRESENTOR})
ip link set $rep mtu 9000
ip link set $rep up
ovs-vsctl --may-exist add-port br-int $rep -- set Interface $rep external-ids:iface-id={INSTANCE}-{node} \\
    external-ids:attached-mac={mac(node)}
""",
        timeout=120,
    )


def no_instance(guest: Guest) -> None:
    """End the instance; its VF is free again."""
    guest.run(f"ip netns del {INSTANCE}; ovs-vsctl --if-exists del-port br-int $({REPRESENTOR})")
