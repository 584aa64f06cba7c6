# SPDX-License-Identifier: Apache-2.0
"""Sequences about VFs, the eswitch's mode, and tc rules."""

from lab.calibrate.sequence import Operation, Sequence

UNBOUND = Operation(
    "two unbound VFs for each port",
    "for pf in $PF0 $PF1; do echo 0 >$(pci $pf)/sriov_drivers_autoprobe; "
    "echo 2 >$(pci $pf)/sriov_numvfs || exit; done",
)
SWITCHDEV = tuple(
    Operation(f"port {port} to switchdev", f"devlink dev eswitch set pci/$PF{port} mode switchdev", "trained")
    for port in (0, 1)
)
LEGACY = tuple(
    Operation(f"port {port} to legacy", f"devlink dev eswitch set pci/$PF{port} mode legacy", "trained")
    for port in (0, 1)
)
BIND = Operation("bind a VF", "echo 1 >$(pci $PF0)/sriov_drivers_autoprobe; driver bind $(vf $PF0 0)")
UNBIND = Operation("unbind the VF", "driver unbind $(vf $PF0 0)")
RULE = (
    "tc qdisc add dev {0} ingress && tc filter add dev {0} ingress protocol ip flower skip_sw "
    "dst_ip 192.0.2.1 action {1}"
)
REMOVE_RULE = "tc qdisc del dev {} ingress"

SEQUENCES = (
    Sequence(
        "mode-change",
        "What does a change to switchdev and back do to netdevs, VFs, links and channels?",
        (
            Operation(
                "both links up",
                "ip link set $NET0 up; ip link set $NET1 up",
                "trained",
            ),
            UNBOUND,
            *SWITCHDEV,
            Operation("the same mode again", SWITCHDEV[0].command, "trained"),
            BIND,
            Operation("back to legacy with a bound VF", LEGACY[0].command, "trained"),
            LEGACY[1],
            Operation("no VFs", "for pf in $PF0 $PF1; do echo 0 >$(pci $pf)/sriov_numvfs; done"),
        ),
    ),
    Sequence(
        "mode-change-without-vfs",
        "Is there an eswitch without VFs, and does its mode outlast the VFs?",
        (
            Operation("show the eswitch", "devlink dev eswitch show pci/$PF0"),
            *SWITCHDEV,
            UNBOUND,
            Operation("no VFs", "for pf in $PF0 $PF1; do echo 0 >$(pci $pf)/sriov_numvfs; done"),
            *LEGACY,
        ),
    ),
    Sequence(
        "mode-change-bound-vfs",
        "Who refuses switchdev while a VF is bound, in which words, and what is left of the old mode?",
        (
            Operation("a bound VF", "echo 1 >$(pci $PF0)/sriov_numvfs"),
            SWITCHDEV[0],
            Operation("without encapsulation", "devlink dev eswitch set pci/$PF0 encap-mode none"),
            Operation("again to switchdev", "devlink dev eswitch set pci/$PF0 mode switchdev"),
            LEGACY[0],
        ),
    ),
    Sequence(
        "vf-refusals",
        "What do the PCI core and the driver refuse about VFs?",
        (
            UNBOUND,
            Operation("another number of VFs", "echo 1 >$(pci $PF0)/sriov_numvfs"),
            Operation("bind a VF without autoprobe", "driver bind $(vf $PF0 0)"),
            Operation("no VFs", "echo 0 >$(pci $PF0)/sriov_numvfs"),
            Operation(
                "more VFs than there are",
                "echo $(($(cat $(pci $PF0)/sriov_totalvfs) + 1)) >$(pci $PF0)/sriov_numvfs",
            ),
        ),
    ),
    Sequence(
        "mode-change-rules",
        "Do rules prevent a mode change, in both modes and on the other port?",
        (
            UNBOUND,
            Operation("offload of rules in legacy mode", "ethtool -K $NET0 hw-tc-offload on"),
            Operation("a rule in legacy mode", RULE.format("$NET0", "drop")),
            SWITCHDEV[0],
            SWITCHDEV[1],
            Operation("remove the rule", REMOVE_RULE.format("$NET0")),
            Operation("port 0 to switchdev without the rule", SWITCHDEV[0].command),
            Operation(
                "a rule on a representor",
                RULE.format("$(representor $PF0 0)", "mirred egress redirect dev $NET0"),
            ),
            *LEGACY,
            Operation("remove the representor's rule", REMOVE_RULE.format("$(representor $PF0 0)")),
            Operation("port 0 to legacy without the rule", LEGACY[0].command),
        ),
    ),
    Sequence(
        "mode-and-settings",
        "Which settings of the eswitch does the driver refuse?",
        (
            Operation("inline mode", "devlink dev eswitch set pci/$PF0 inline-mode transport"),
            Operation("an unknown mode", "devlink dev eswitch set pci/$PF0 mode neither"),
            SWITCHDEV[0],
            Operation(
                "steering by software in switchdev",
                "devlink dev param set pci/$PF0 name flow_steering_mode value smfs cmode runtime",
            ),
            Operation("encapsulation in switchdev", "devlink dev eswitch set pci/$PF0 encap-mode none"),
            LEGACY[0],
        ),
    ),
)
