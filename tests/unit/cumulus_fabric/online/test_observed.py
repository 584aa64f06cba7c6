# SPDX-License-Identifier: Apache-2.0
"""Faults of a fabric under Prometheus and Alertmanager: the charm in front of simulated switches.

The rack's scenario `observed` does the same with FRR and guests.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from lab.observed import faults, modelled, watch
from unit.cumulus_fabric.online.test_charm_status import spoil
from unit.cumulus_fabric.online.test_exporter import OTHER_SEGMENT, behind_nvue
from unit.cumulus_fabric.online.unit import Unit

HOST = "fabric"
OWN_SEGMENT = {"interface": {"bond1": {"evpn": {"multihoming": {"segment": {"local-id": 1}}}}}}
LEAVES = (f"{HOST} Leaf0-1", f"{HOST} Leaf0-2")


class Modelled(modelled.Exported):
    """The unit as the lab, and as the guest that it scrapes."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(lambda: unit.host)
        self._unit = unit

    until = staticmethod(modelled.until)

    def seen(self, change: Callable[[], object]) -> faults.Act:
        """A change, and the update-status that sees it."""
        return lambda _: (change(), self._unit.emit("update_status"))


def exchanged(unit: Unit) -> None:
    """The cables of both leaves, at the spine."""
    one, other = (("Leaf0-1", "swp31"), ("Leaf0-2", "swp31"))
    cables = unit.rack.wires.cables
    ends = cables[one], cables[other]
    unit.rack.wires.cable(one, ends[1])
    unit.rack.wires.cable(other, ends[0])


@pytest.mark.thorough
def test_each_fault_raises_its_alert_alone_which_clears(running: Unit, tmp_path: Path) -> None:
    lab = Modelled(running)
    lost, found = (
        lambda segment=segment: behind_nvue(running, "Leaf0-1", segment)
        for segment in (OTHER_SEGMENT, OWN_SEGMENT)
    )
    cases = [
        faults.Fault("ESI", "OffloadFabricSegmentsMissing", LEAVES, lab.seen(lost), lab.seen(found)),
        faults.Fault(
            "cables",
            "OffloadFabricWrongCable",
            (*LEAVES, f"{HOST} Spine0"),
            lab.seen(lambda: exchanged(running)),
            lab.seen(lambda: exchanged(running)),
        ),
        faults.Fault(
            "drift",
            "OffloadFabricDrift",
            LEAVES[:1],
            lab.seen(lambda: spoil(running)),
            lambda _: running.action("apply"),
        ),
    ]
    running.emit()
    with watch.watching(lab, [watch.Target(HOST, "cumulus-fabric/0", lab)], tmp_path) as watched:
        assert faults.quiet(watched), watched.restless()
        seen = [faults.try_out(watched, case) for case in cases]
    print(faults.table(seen, watched.factor))
    assert [each.told for each in seen if not each.holds] == []
