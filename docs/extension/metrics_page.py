# SPDX-License-Identifier: Apache-2.0
"""The page of the exporter's metrics, from its catalogue."""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "lib"))

from exporter.catalogue import FABRIC, HOST, PORT, THRESHOLDS, Metric

_HEAD = "| metric | labels | what it says | source |", "|---|---|---|---|"


_INSTANCES = """### Which instance has a VF

No label names an instance: Open vSwitch's database and libvirt, which know it, answer root alone, and the
exporter is not root. On the host, this lists the representors with Neutron's port (`iface-id`) and Nova's
instance (`vm-uuid`):

    ovs-vsctl --columns=name,external_ids find Interface 'external_ids:iface-id!=""'

`/sys/class/net/NAME/phys_port_name` of a representor has its labels: `pf0vf3` is `vf="3"` of the port whose
PCI function is 0 (see `ovn_offload_port_info`). For one instance, `openstack port show -c binding_profile`
names the PCI address of its VF; `virtfn3` in the port's folder `/sys/bus/pci/devices/ADDRESS` leads to that
of VF 3.
"""


def page() -> str:
    """The page, as Markdown."""
    return "\n".join(
        [
            "# Metrics",
            "",
            "The charms install one exporter on each machine, `ovn-offload-exporter.service`. It serves "
            f"`http://127.0.0.1:{PORT}/metrics` for Prometheus.",
            "",
            "## Of a host",
            "",
            "Only declared ports have series. `port` is the netdev of the uplink, `vf` the number of a "
            "virtual function of that port; `charm` and `unit` name the charm and the Juju unit that looked. "
            "A metric whose source is `hook` is as old as `ovn_offload_charm_look_age_seconds` says; what "
            "the exporter reads itself is as old as `ovn_offload_source_age_seconds` says.",
            "",
            "A metric is missing where the driver, the firmware or the kernel does not have it.",
            "",
            *_HEAD,
            *map(_row, HOST.values()),
            "",
            _INSTANCES,
            "## Of the fabric",
            "",
            "The exporter on a unit of cumulus-fabric has `ovn_offload_charm_look_age_seconds` and "
            "`ovn_offload_charm_findings`, and on the leader these metrics. It asks no switch: it says what "
            "the switches answered when a hook or an action asked them last. update-status asks them.",
            "",
            *_HEAD,
            *map(_row, FABRIC.values()),
            "",
            "## Thresholds",
            "",
            "`ovn_offload_threshold` has the numbers with which rules compare, the same on every host.",
            "",
            "| name | value |",
            "|---|---|",
            *_thresholds(),
            "",
        ]
    )


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.series}` | {labels} | {metric.help} | `{metric.source}` |"


def _thresholds() -> Iterator[str]:
    for name, value in THRESHOLDS.items():
        yield f"| `{name}` | {value:g} |"
