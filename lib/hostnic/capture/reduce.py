# SPDX-License-Identifier: Apache-2.0
"""The rules by which a capture keeps only those parts of an answer that its reader needs.

Files and outputs of commands for which there is no rule are left out.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from hostnic import nova
from hostnic.devices import users
from hostnic.firmware import mstconfig
from hostnic.firmware.configspace import EXTENDED_SERIAL, ConfigSpace
from hostnic.network import ovs
from hostnic.ops.lldp import DROP_IN

OTHER = "(other content)\n"
"""The text in place of a file of the charm that somebody has changed."""

Keep = Callable[[str], str | None]
"""Returns the part of a text that is kept; None leaves it out."""


def whole(text: str) -> str:
    """Keep the whole text: the kernel's attributes, into which nobody writes names."""
    return text


def lines(pattern: str) -> Keep:
    """Keep only lines that match."""
    kept = re.compile(pattern)
    return lambda text: "".join(f"{line}\n" for line in text.splitlines() if kept.search(line))


def equal(expected: str) -> Keep:
    """The text if it is the expected one."""
    return lambda text: text if text == expected else OTHER


def document(text: str) -> str:
    """Keep a JSON document, as the charms write them for themselves and each other."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return OTHER
    return text


def domain(xml: str) -> str:
    """Keep of a running domain its name, and the functions and vDPA devices that the host gave it."""
    name = re.search(users.NAME, xml)
    sources = [f"<name>{name[1]}</name>"] if name else []
    for bdf in sorted(users.pci_addresses(xml)):
        domain, bus, rest = bdf.split(":")
        slot, _, function = rest.partition(".")
        address = f"domain='0x{domain}' bus='0x{bus}' slot='0x{slot}' function='0x{function}'"
        sources.append(f"<source><address {address}/></source>")
    sources += [f"<source dev='{node}'/>" for node in sorted(users.vdpa_nodes(xml))]
    return "".join(sources)


def configuration(text: str) -> str:
    """A function's configuration space without the serial number that PCI Express gives it."""
    content = bytearray(text.encode("utf-8", "surrogateescape"))
    serial = ConfigSpace(content).extended(EXTENDED_SERIAL)
    if serial is not None:
        content[serial + 4 : serial + 12] = bytes(len(content[serial + 4 : serial + 12]))
    return content.decode("utf-8", "surrogateescape")


def parameters(output: str) -> str:
    """The table of ``mstconfig … query`` and its errors, without what stands around it."""
    known = mstconfig.parse(output)
    rows = ((line, mstconfig.ROW.fullmatch(line.strip())) for line in output.splitlines())
    kept = (
        line
        for line, row in rows
        if line.startswith((mstconfig.HEADER, "-E- ")) or (row is not None and row["name"] in known)
    )
    return "".join(f"{line}\n" for line in kept)


def open_vswitch(output: str) -> str:
    """Keep the settings of Open vSwitch that a charm compares."""
    try:
        row: dict[str, Any] = (ovs.rows(output) or [{}])[0]
    except OSError:
        return OTHER
    kept = {
        "other_config": ("hw-offload", "tc-policy", "dpdk-init", "flow-restore-wait"),
        "external_ids": ("ovn-encap-ip", "ovn-encap-tos", "ovn-remote", "ovn-managed-flow-restore-wait"),
    }
    cells: dict[str, Any] = {}
    for column, names in kept.items():
        found: dict[str, Any] = row.get(column) or {}
        cells[column] = ["map", [[name, found[name]] for name in names if name in found]]
    return json.dumps([cells])


def _nova(text: str) -> str:
    """Keep nova.conf's rules for CPUs and memory, and the ports whose VFs it offers."""
    kept = lines(r"^(\[\w+\]|(cpu_dedicated_set|reserved_host_memory_mb)\s*[=:][\d\s,^-]*)$")(text) or ""
    entries = nova.offered(nova.parse(text))
    if entries is None:
        return kept
    listed = [
        {
            **({"devname": each.devname} if each.devname else {}),
            **({"physical_network": None} if each.for_ports else {}),
        }
        for each in entries
    ]
    section, name = nova.WHITELIST[0]
    return f"{kept}[{section}]\n{name} = {json.dumps(listed)}\n" if listed else kept


_ATTRIBUTES = "class|infiniband/.*|vendor|device|numa_node|sriov_[a-z_]+|virtfn[0-9]+"

RULES: tuple[tuple[str, Keep], ...] = (
    (rf"read /sys/bus/pci/devices/[^/]+/({_ATTRIBUTES})", whole),
    (r"read /sys/bus/pci/devices/[^/]+/config", configuration),
    (
        r"read /sys/(bus/vdpa|class/infiniband|kernel/debug/mlx5|kernel/config/rdma_cm|kernel/security)/.*",
        whole,
    ),
    (r"read /sys/class/infiniband_(verbs|mad)/[^/]+/ibdev", whole),
    (r"read /sys/class/net/[^/]+/(bonding|bonding_slave|ecn)/.*", whole),
    (r"read /sys/devices/system/cpu/(online|isolated|smt/control)", whole),
    (r"read /sys/devices/system/cpu/(cpufreq/policy[0-9]+|cpu[0-9]+/cpuidle/state[0-9]+)/[a-z_]+", whole),
    (r"read /sys/devices/system/node/node[0-9]+/(cpulist|hugepages/.*)", whole),
    (r"read /sys/class/thermal/cooling_device[0-9]+/(type|max_state)", whole),
    (r"read /sys/kernel/iommu_groups/[0-9]+/type", whole),
    (r"read /proc/meminfo", lines(r"^MemTotal:")),
    (r"read /proc/cmdline", lambda text: " ".join(re.findall(r"(?<!\S)idle=\w+", text))),
    # The file also has the passwords of the database, of RabbitMQ and of Nova's users.
    (
        rf"read {nova.PATH}",
        _nova,
    ),
    (
        r"read /proc/(sys/kernel/(hostname|osrelease|random/boot_id)|net/(route|ipv6_route|vlan/.*))",
        whole,
    ),
    (r"read /proc/sys/kernel/numa_balancing", whole),
    (r"read /proc/cpuinfo", lambda text: "AuthenticAMD\n" if "AuthenticAMD" in text else ""),
    (r"read /run/systemd/netif/links/[0-9]+", lines(r"^NETWORK_FILE=")),
    (r"read /(etc|run)/systemd/network/[^/]+\.network", lines(r"^\s*(Name|(Permanent)?MACAddress|Bond)\s*=")),
    (r"read /etc/systemd/network/[^/]+\.d/50-ovn-offload-lldp\.conf", equal(DROP_IN)),
    (rf"read ({'|'.join(users.LIBVIRT)})/[^/]+\.xml", domain),
    (r"read /(etc|run|var/lib)/ovn-offload/.*\.json", document),
    (r"read /run/ovn-offload/.*/served", equal("")),
    (r"read /usr/lib/ovn-offload/.*", lambda text: text if re.fullmatch(r"[0-9a-f.\s]*", text) else OTHER),
    (r"read /etc/(systemd/system|udev/rules\.d)/(7[0-9]-)?ovn-offload-[^/]+", whole),
    (r"database Open_vSwitch .*", open_vswitch),
    (r"database Bridge .*", whole),
    (r"query networkctl lldp .*", lambda _: '{"Neighbors": []}'),
    (r"query journalctl .*", lines(r"(?i)mlx5_core.*(\blag\b|E-Switch: (Disable|Enable))")),
    (r"query mstconfig .*", parameters),
    (r"query mstflint .* query", lines(r"^(FW Version(\(Running\))?|PSID):|^-E- ")),
    (r"query mstmcra .*", lines(r"^\s*0x[0-9a-fA-F]+\s*$|^-E- ")),
    (r"query systemctl show .*", lines(r"^(ActiveState|SubState|Result|ExecMainStatus)=")),
    (r"query sha256sum .*", lines("^[0-9a-f]{64}  ")),
)
"""The questions whose texts are kept, each with the rule for its text."""


def keep(question: str, text: str) -> str | None:
    """Return the part that is kept of the text that answers ``question``; None leaves it out."""
    for pattern, rule in RULES:
        if re.fullmatch(pattern, question):
            return rule(text)
    return None
