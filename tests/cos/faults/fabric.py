# SPDX-License-Identifier: Apache-2.0
"""Faults of a fabric in the series of cumulus-fabric's exporter, and the alert of each; planned work."""

from cos.promtool import Fault, series

UNIT = "cumulus-fabric/0"


def fabric(metric: str, **labels: str) -> str:
    """A series of the fabric."""
    return series(f"fabric_{metric}", **{"juju_unit": UNIT, **labels})


def fewer(kind: str, actual: str) -> dict[str, str]:
    """Two of a kind in the intent, and what the switch has of them."""
    about = {"switch": "Leaf0-1", "object": kind}
    return {
        fabric("declared", **about): "2x90",
        fabric("actual", **about): actual,
        fabric("switch_drained", switch="Leaf0-1"): "0x90",
        fabric("switch_drained", switch="Spine0"): "0x90",
    }


LEAF = f"{UNIT}: switch Leaf0-1"
ON_LEAF = {"switch": "Leaf0-1"}
PORT = {**ON_LEAF, "port": "swp9"}
SENT = {"class": "roce", "direction": "sent"}
OTHER = {"class": "other", "direction": "received"}
FAULTS = [
    Fault(
        "FabricNotLooked",
        {fabric("look_age_seconds"): "0+60x90"},
        {},
        f"{UNIT} has not asked the switches for 1h 20m 0s.",
        80,
        70,
    ),
    Fault(
        "FabricSwitchSilent",
        {
            fabric("switch_answers", **ON_LEAF): "1x10 0x80",
            fabric("switch_drained", **ON_LEAF): "0x90",
            fabric("switch_drained", switch="Spine0"): "1x90",
        },
        ON_LEAF,
        f"{LEAF} could not be read at looks of the last half hour (0 of 1).",
        30,
        20,
    ),
    *(
        Fault(
            f"Fabric{kind}Missing",
            fewer(kind.lower(), "2x10 1x80"),
            {**ON_LEAF, "object": kind.lower()},
            f"{LEAF} has 1 {what} fewer than the intent.",
            25,
            15,
        )
        for kind, what in (
            ("Links", "link(s) to switches"),
            ("Sessions", "BGP session(s)"),
            ("Segments", "Ethernet segment(s)"),
            ("Vnis", "VNI(s)"),
        )
    ),
    Fault(
        "FabricWrongCable",
        {fabric("miswired", **ON_LEAF): "0x10 2x80"},
        ON_LEAF,
        f"{LEAF} has 2 port(s) with another neighbour than the intent's.",
        30,
        20,
    ),
    Fault(
        "FabricDrift",
        {fabric("drift", **ON_LEAF): "0x10 3x80", fabric("switch_drained", **ON_LEAF): "0x90"},
        ON_LEAF,
        f"{LEAF} differs from the intent in 3 setting(s).",
        75,
        65,
    ),
    Fault(
        "FabricHostDiffers",
        {fabric("host_differences", unit="roce-qos/1", about="cables"): "0x10 1x80"},
        {"unit": "roce-qos/1", "about": "cables"},
        "roce-qos/1 differs from the fabric in 1 point(s): cables.",
        75,
        65,
    ),
    Fault(
        "FabricNotTold",
        {fabric("look_age_seconds"): "90x10 stale", series("up", juju_unit=UNIT): "1x90"},
        {},
        f"{UNIT} says nothing of the switches any more; it had last asked them 1m 30s before.",
        40,
        10,
    ),
    Fault(
        "FabricSwitchDrained",
        {fabric("switch_drained", **ON_LEAF): "0x10 1x900"},
        ON_LEAF,
        f"{LEAF} has been drained (1) for twelve hours; the hosts have no way around a second fault.",
        740,
        700,
    ),
    Fault(
        "PlannedDrain",
        {fabric("switch_drained", **ON_LEAF): "0x10 1x80"},
        ON_LEAF,
        f"Switch Leaf0-1 is drained, as {UNIT} has it (1); the ports of its hosts are shut down.",
        20,
        8,
    ),
    Fault(
        "FabricRoceDropped",
        {
            fabric("port_drops_total", **PORT, **SENT): "0x10 0+60x80",
            fabric("port_frames_total", **PORT, **SENT): "0+6000000x90",
        },
        {**PORT, **SENT},
        f"{UNIT}: switch Leaf0-1 port swp9 has dropped 3600 sent frames of RoCE in an hour.",
        85,
        10,
    ),
    Fault(
        "FabricDropped",
        {
            fabric("port_drops_total", **PORT, **OTHER): "0x10 0+1200x80",
            fabric("port_frames_total", **PORT, **OTHER): "0+60000x90",
        },
        {**PORT, **OTHER},
        f"{UNIT}: switch Leaf0-1 port swp9 drops 2% of the received frames of class other "
        "for want of buffers.",
        85,
        10,
    ),
    Fault(
        "FabricPaused",
        {fabric("port_pause_seconds_total", **PORT, direction="received"): "0x10 0+30x80"},
        {**PORT, "direction": "received"},
        f"{UNIT}: switch Leaf0-1 port swp9: what is at its end stops the switch's RoCE for 50% of the time; "
        "the congestion spreads.",
        85,
        15,
    ),
    Fault(
        "FabricPauses",
        {fabric("port_pause_seconds_total", **PORT, direction="sent"): "0x10 0+30x80"},
        {**PORT, "direction": "sent"},
        f"{UNIT}: switch Leaf0-1 port swp9: the switch stops what is at its end for 50% of the time.",
        85,
        15,
    ),
    Fault(
        "FabricMarked",
        {
            fabric("port_ecn_marked_total", **PORT): "0x10 0+54000x120",
            fabric("port_frames_total", **PORT, **SENT): "0+60000x130",
        },
        PORT,
        f"{UNIT}: switch Leaf0-1 port swp9: 90% of the RoCE frames that it sends have a mark of congestion.",
        105,
        40,
    ),
]
DRAINED = {
    **fewer("sessions", "2x10 1x80"),
    **fewer("links", "2x10 1x80"),
    fabric("switch_drained", switch="Spine0"): "0x10 1x80",
    fabric("declared", switch="Spine0", object="segments"): "0x90",
    fabric("switch_answers", switch="Spine0"): "1x20 0x70",
}
"""A spine is out of use for work on it, and off: each leaf lacks its session meanwhile."""
