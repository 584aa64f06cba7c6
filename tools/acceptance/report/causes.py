# SPDX-License-Identifier: Apache-2.0
"""The area that a failed check points at, and the remedy."""

CAUSES = (
    (
        "mtu",
        "MTU",
        "run juju run cumulus-fabric/0 verify and juju run sriov-switchdev/N verify; compare "
        "global-physnet-mtu, the MTU of bond and bridge on both nodes, and that of the switches",
    ),
    (
        "closed",
        "security groups",
        "see openstack port show of the servers' ports, openstack security group rule list, and "
        "ovn-controller.log on the nodes of this rung",
    ),
    ("in-nic", "offload", "run juju run sriov-switchdev/N verify and show-offload on the nodes of this rung"),
    (
        "host-cpu",
        "offload",
        "packets of VFs cross the host's CPUs, whatever Open vSwitch says: run juju run sriov-switchdev/N "
        "verify and show-offload under load, and see the kernel log and mpstat -P ALL 1 there",
    ),
    (
        "lossless",
        "fabric",
        "run juju run roce-qos/N verify, then show-counters seconds=10 under load, and "
        "juju run cumulus-fabric/0 verify",
    ),
    (
        "both-ports",
        "fabric",
        "check that both links of the bond are up and VF-LAG is active: "
        "juju run sriov-switchdev/N list-devices, and juju run cumulus-fabric/0 show-fabric health=true",
    ),
    (
        "failover",
        "failover",
        "see miimon and LACP's rate of the bond (/proc/net/bonding), VF-LAG in juju run sriov-switchdev/N "
        "list-devices, and the switches' ESI or MLAG: juju run cumulus-fabric/0 show-fabric health=true",
    ),
    (
        "class-share",
        "QoS",
        "run juju run roce-qos/N verify and show-qos on the nodes of this rung, and "
        "juju run cumulus-fabric/0 verify: NICs and switches must have the same ETS, PFC and ECN",
    ),
    (
        "line-rate",
        "host tuning",
        "run juju run sriov-switchdev/N check-host on both nodes, and see isolcpus, which leaves few CPUs to "
        "the hosts; line-share in the site file is what is wanted",
    ),
    (
        "vf-to-host",
        "host tuning",
        "see cpu-dedicated-set and isolcpus, the NIC's NUMA node, hyper-threading and power management in "
        "the BIOS, and systemctl status offload-tune in the servers; for too few queues also NUM_VF_MSIX in "
        "juju run nic-firmware/N query",
    ),
)
"""The explanations of a loss, the most basic first: a wrong MTU also costs throughput and offload."""

_TRACKING = (
    "offload",
    "this rung adds connection tracking: see flows and tracked connections in juju run sriov-switchdev/N "
    "show-offload under load, and the RDG's figures in the report, which lose 5 % by it",
)
ADDED = {
    "vf-group": _TRACKING,
    "north-south": _TRACKING,
    "cross-rack": (
        "fabric",
        "see that all links between leaves and spines are up and carry traffic: juju run cumulus-fabric/0 "
        "show-fabric health=true; and for the node that only this rung uses "
        "juju run sriov-switchdev/N check-host",
    ),
}
"""The explanations of lost throughput alone on a rung whose servers reach it on the rungs before."""
