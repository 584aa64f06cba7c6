# SPDX-License-Identifier: Apache-2.0
"""The consequences of a reboot, in the words of the actions ``approve-reboot`` and ``plan``."""

import re
from collections.abc import Mapping, Sequence

from converge.finding import few
from hostnic.devices import users
from hostnic.system import System, has_entries, if_told, list_names, read_text

from charmkit.reboot.state import UnitState

HOSTNAME = "/proc/sys/kernel/hostname"
"""The name that nova-compute gives its host, unless nova.conf has the option ``host``."""

RUNTIME = ("/run/ceph", "/var/snap/microceph/current/run")
"""The folders of Ceph's admin sockets: of the packages, and of the snap MicroCeph (its `run dir`).

cephadm has them below the first one, in a folder for each cluster.
"""

CEPH = "/var/lib/ceph"
"""Has a folder for each cluster of cephadm, named by its UUID."""

STORED = (
    f"{CEPH}/osd",
    f"{CEPH}/mon",
    "/var/snap/microceph/common/data/osd",
    "/var/snap/microceph/common/data/mon",
)
"""Have an entry for each OSD and monitor of Ceph, whether it runs or not: the packages', and MicroCeph's."""

_CLUSTER = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

VAULTS = ("/var/snap/vault/common/vault.hcl", "/etc/vault.d/vault.hcl")
"""The configuration of a Vault on the host: of the snap, as the charm has it, and of the vendor's package."""

_SERVICE = "openstack compute service set {} {} nova-compute"


def running(system: System) -> tuple[str, ...]:
    """The instances that run on this host; none where that cannot be read."""
    return if_told(lambda: users.instances(system)) or ()


def osds(system: System) -> tuple[str, ...]:
    """The OSDs of Ceph that run on this host; each has an admin socket while it runs, which needs no key."""
    names = [name for folder in RUNTIME for name in list_names(system, folder)]
    clusters = [name for name in names if re.fullmatch(_CLUSTER, name)]
    names += [name for each in clusters for name in list_names(system, f"{RUNTIME[0]}/{each}")]
    found = (re.fullmatch(r"ceph-(osd\.[0-9]+)\.asok", name) for name in names)
    return tuple(sorted({each[1] for each in found if each}))


def members_here(system: System) -> bool:
    """Whether a Vault, or an OSD or monitor of Ceph, is on the host itself, whether it runs or not.

    Their configuration and folders are on the disk, so that the answer does not depend on the boot. It is
    also yes if it cannot be read.
    """
    if vault_here(system) or any(has_entries(system, folder) for folder in STORED):
        return True
    return any(re.fullmatch(_CLUSTER, name) for name in list_names(system, CEPH))


def prepare(system: System, names: Sequence[str]) -> str:
    """List the operator's duties for a reboot of this host; ``names`` are its containers that run."""
    said = list[str]()
    if running_osds := osds(system):
        said.append(f"{few(running_osds)} of Ceph stop: see that its health is good, and set noout before")
    here = vault_here(system)
    if names or here:
        from charmkit.reboot import services  # only on hosts with containers, or with a Vault

        if vaults := services.vaults_to_unseal(system, names):
            said.append(f"Vault in {few(vaults)} comes back sealed: unseal it after")
        if here and services.vault_of_host(system, services.vault_closes):
            said.append("Vault on this host comes back sealed: unseal it after")
    return "; ".join(said)


def vault_here(system: System) -> bool:
    """Whether a Vault is on the host itself, outside of containers."""
    return any(system.files.exists(path) for path in VAULTS)


def interruption(system: System, unit: str, units: Mapping[str, UnitState]) -> dict[str, str]:
    """The results of an action on ``unit``: how many instances stop with the reboots of ``units``.

    Only this unit's own instances are named: databags carry numbers alone. The commands are for the operator,
    who decides whether Nova may schedule new instances on a host that is about to reboot.
    """
    counts = {name: state.instances for name, state in units.items()}
    if unit in counts:
        here = running(system)
        counts[unit] = len(here)
    else:
        here = ()
    results = {"instances": ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))}
    if here:
        results["instances-here"] = ", ".join(here)
    if told := [f"{name}: {state.prepare}" for name, state in sorted(units.items()) if state.prepare]:
        results["prepare"] = "\n".join(told)
    if any(counts.values()):
        host = (set(counts) == {unit} and read_text(system, HOSTNAME)) or "HOST"
        results["before"] = _SERVICE.format("--disable --disable-reason reboot", host)
        results["after"] = _SERVICE.format("--enable", host)
    return results
