# SPDX-License-Identifier: Apache-2.0
"""The kernel's own users of RDMA now: they open no device file, so that no process shows them.

mlx5's RDMA device of an uplink is for raw Ethernet alone in switchdev mode (hw/mlx5/ib_rep.c), so that all of
these end there. Where each one shows itself, in the kernel's sources:

- NFS: ``proto=rdma`` of a mount (fs/nfs/super.c: nfs_show_mount_options); a server's port ``rdma 20049`` in
  nfsd's portlist (net/sunrpc/svc_xprt.c: svc_xprt_names).
- SMB Direct: ``rdma`` of a mount (fs/smb/client/cifsfs.c: cifs_show_options); ksmbd listens on every device
  that can do it (fs/smb/server/transport_rdma.c), and tells that it runs in its class (server.c: stats_show).
- 9p: ``trans=rdma`` of a mount (net/9p/client.c). Lustre: a mount from ``…@o2ib``.
- NVMe: a controller's ``transport`` and ``address`` (drivers/nvme/host/sysfs.c); a target's ports in configfs
  (drivers/nvme/target/configfs.c).
- iSER: the SCSI host of a session has ``proc_name`` iscsi_iser (ulp/iser/iscsi_iser.c); a target's portals
  have ``iser`` in configfs (drivers/target/iscsi/iscsi_target_configfs.c).
- SRP: ``local_ib_device`` of a SCSI host (ulp/srp/ib_srp.c); a target's groups in configfs (ulp/srpt).
- RTRS, of RNBD: a class with the sessions (ulp/rtrs/rtrs-clt-sysfs.c, rtrs-srv-sysfs.c).
- RDS, Lustre, DRBD and SMC-R: a reference to their module by what uses it (net/rds/transport.c).

IPoIB exists on InfiniBand ports only: hostnic.devices.infiniband.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hostnic.system import System, if_told, list_names, read_text

MOUNTS = ("/proc/1/mounts", "/proc/self/mounts", "/proc/mounts")
"""The host's own, or those that this process sees; one of them is enough."""
PORTLIST = "/proc/fs/nfsd/portlist"
NVME, NVMET = "/sys/class/nvme", "/sys/kernel/config/nvmet/ports"
SESSIONS, CONNECTIONS, SCSI = (
    "/sys/class/iscsi_session",
    "/sys/class/iscsi_connection",
    "/sys/class/scsi_host",
)
ISER_TRANSPORT = "/sys/class/iscsi_transport/iser"
TARGETS = "/sys/kernel/config/target"
KSMBD = "/sys/class/ksmbd-control/stats"
MODULES = {"rds_rdma": "RDS", "ko2iblnd": "Lustre", "drbd_transport_rdma": "DRBD", "smc": "SMC-R"}
"""Modules that what uses them holds, by what they are for."""
ANY = ("0.0.0.0", "::", "")  # noqa: S104 - compared with


class KernelUser(NamedTuple):
    """A user of RDMA in the kernel."""

    words: str  # `the NFS mount /srv`
    # Addresses of this host, or of the other side, by which its port is found; none where that is not told
    addresses: tuple[str, ...] = ()
    device: str = ""  # the RDMA device, where it tells that


def users(system: System) -> list[KernelUser]:
    """List all on this host. A source is left out if the kernel lacks it, or its module is not loaded."""
    found = [*_mounts(system), *_nfsd(system), *_nvme(system), *_nvmet(system), *_iscsi(system)]
    found += [*_portals(system), *_srp(system), *_rtrs(system), *_modules(system)]
    if " running " in f" {read_text(system, KSMBD) or ''} ":
        found.append(KernelUser("the SMB server of the kernel (ksmbd)"))
    return found


def _mounts(system: System) -> Iterator[KernelUser]:
    texts = (read_text(system, path) for path in MOUNTS)
    for line in next(filter(None, texts), "").splitlines():
        source, where, kind, options, *_ = [*line.split(), "", "", "", ""]
        given = {key: value for key, _, value in (each.partition("=") for each in options.split(","))}
        remote = tuple(filter(None, (given.get("addr") or given.get("mountaddr"),)))
        if kind in ("nfs", "nfs4") and given.get("proto", "").startswith("rdma"):
            yield KernelUser(f"the NFS mount {where}", remote)
        elif kind in ("cifs", "smb3") and "rdma" in given:
            yield KernelUser(f"the SMB mount {where}", remote)
        elif kind == "9p" and given.get("trans") == "rdma":
            yield KernelUser(f"the 9p mount {where}", _literal(source))
        elif kind == "lustre" and "@o2ib" in source:
            yield KernelUser(f"the Lustre mount {where}", _literal(source.partition("@")[0]))


def _nfsd(system: System) -> Iterator[KernelUser]:
    for line in (read_text(system, PORTLIST) or "").splitlines():
        if line.startswith("rdma"):
            yield KernelUser(f"the NFS server ({line.strip()})")


def _nvme(system: System) -> Iterator[KernelUser]:
    for name in list_names(system, NVME):
        if read_text(system, f"{NVME}/{name}/transport") != "rdma":
            continue
        address = read_text(system, f"{NVME}/{name}/address") or ""
        told = dict(re.findall(r"(\w+)=([^,\s]+)", address))
        ends = filter(None, (told.get("host_traddr") or told.get("src_addr"), told.get("traddr")))
        yield KernelUser(f"the NVMe controller {name}", tuple(ends))


def _nvmet(system: System) -> Iterator[KernelUser]:
    for name in list_names(system, NVMET):
        port = f"{NVMET}/{name}"
        serves = list_names(system, f"{port}/subsystems") or not system.files.exists(f"{port}/subsystems")
        if serves and read_text(system, f"{port}/addr_trtype") == "rdma":
            yield KernelUser(
                f"the NVMe target's port {name}", _literal(read_text(system, f"{port}/addr_traddr"))
            )


def _iscsi(system: System) -> Iterator[KernelUser]:
    """Sessions of iSER. Where the SCSI host of one is not told, it counts if the transport is there."""
    for name in list_names(system, SESSIONS):
        link = if_told(lambda name=name: system.files.readlink(f"{SESSIONS}/{name}")) or ""
        host = re.search(r"/(host\d+)/", link)
        kind = read_text(system, f"{SCSI}/{host[1]}/proc_name") if host else None
        if kind == "iscsi_iser" or (kind is None and system.files.exists(ISER_TRANSPORT)):
            about = read_text(system, f"{SESSIONS}/{name}/targetname") or name
            connection = f"{CONNECTIONS}/{name.replace('session', 'connection')}:0"
            told = (read_text(system, f"{connection}/{each}") for each in ("address", "persistent_address"))
            yield KernelUser(f"the iSER session of {about}", _literal(next(filter(None, told), "")))


def _portals(system: System) -> Iterator[KernelUser]:
    """A target's portals, which name it and their address: ``…/iqn…/tpgt_1/np/192.0.2.1:3260/iser``."""
    for target in list_names(system, f"{TARGETS}/iscsi"):
        for group in list_names(system, f"{TARGETS}/iscsi/{target}"):
            directory = f"{TARGETS}/iscsi/{target}/{group}/np"
            for portal in list_names(system, directory) if group.startswith("tpgt_") else ():
                if read_text(system, f"{directory}/{portal}/iser") == "1":
                    address = portal.rpartition(":")[0].strip("[]")
                    yield KernelUser(f"the iSER portal {portal} of {target}", _literal(address))


def _srp(system: System) -> Iterator[KernelUser]:
    for name in list_names(system, SCSI):
        if device := read_text(system, f"{SCSI}/{name}/local_ib_device"):
            yield KernelUser(f"the SRP target at SCSI {name}", device=device)
    for port in list_names(system, f"{TARGETS}/srpt"):
        groups = list_names(system, f"{TARGETS}/srpt/{port}")
        if any(read_text(system, f"{TARGETS}/srpt/{port}/{group}/enable") == "1" for group in groups):
            yield KernelUser(f"the SRP target {port}")


def _rtrs(system: System) -> Iterator[KernelUser]:
    for name in ("rtrs-client", "rtrs-server"):
        sessions = list_names(system, f"/sys/class/{name}")
        yield from (
            KernelUser(f"the RTRS session {session} ({name})") for session in sessions if session != "ctl"
        )


def _modules(system: System) -> Iterator[KernelUser]:
    """Modules that depend on one hold it, too (``holders``)."""
    for name, what in MODULES.items():
        count = read_text(system, f"/sys/module/{name}/refcnt") or "0"
        if count.isdecimal() and int(count) > len(list_names(system, f"/sys/module/{name}/holders")):
            yield KernelUser(f"{what} (module {name})")


def _literal(address: str | None) -> tuple[str, ...]:
    """An address, unless it stands for any, or is a name."""
    text = (address or "").strip()
    return (text,) if re.fullmatch(r"[0-9a-fA-F.:]+(%\S+)?", text) and text not in ANY else ()
