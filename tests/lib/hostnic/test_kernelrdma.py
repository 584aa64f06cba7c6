# SPDX-License-Identifier: Apache-2.0
"""The kernel's users of RDMA, by the traces that each subsystem shows, and the port of each."""

import pytest
from hostnic.devices import discover, kernelrdma, users
from lab.modelled import FakeHost

Files = dict[str, str]
MOUNT = "/proc/1/mounts"
NVME, NVMET = "/sys/class/nvme/nvme1", "/sys/kernel/config/nvmet/ports/1"
SESSION, HOST = "/sys/class/iscsi_session/session1", "/sys/class/scsi_host/host7"
LIO = "/sys/kernel/config/target/iscsi/iqn.2003-01.org.linux-iscsi.a/tpgt_1/np"
PEER, OWN = "192.0.2.1", "192.0.2.9"
"""The address that is reached through bond0, and the bond's own."""


def session(transport: str) -> Files:
    return {
        f"link {SESSION}": "../../devices/platform/host7/session1/iscsi_session/session1",
        f"{HOST}/proc_name": transport,
        "/sys/class/iscsi_connection/connection1:0/address": PEER,
    }


TOLD: dict[str, tuple[Files, str]] = {
    "NFS": ({MOUNT: f"a:/b /srv nfs4 rw,proto=rdma,port=20049,addr={PEER} 0 0\n"}, "the NFS mount /srv"),
    "NFS 3, IPv6": (
        {MOUNT: "a:/b /srv nfs rw,proto=rdma6,mountaddr=2001:db8::1 0 0\n"},
        "the NFS mount /srv",
    ),
    "SMB Direct": ({MOUNT: f"//a/b /srv cifs rw,vers=3.1.1,rdma,addr={PEER} 0 0\n"}, "the SMB mount /srv"),
    "9p": ({MOUNT: f"{PEER} /srv 9p rw,trans=rdma 0 0\n"}, "the 9p mount /srv"),
    "Lustre": ({MOUNT: f"{PEER}@o2ib:/fs /srv lustre rw 0 0\n"}, "the Lustre mount /srv"),
    "NVMe": (
        {f"{NVME}/transport": "rdma", f"{NVME}/address": f"traddr={PEER},trsvcid=4420"},
        "the NVMe controller nvme1",
    ),
    "NVMe from an address": (
        {f"{NVME}/transport": "rdma", f"{NVME}/address": f"traddr=198.51.100.1,host_traddr={OWN}"},
        "the NVMe controller nvme1",
    ),
    "NVMe target": (
        {f"{NVMET}/addr_trtype": "rdma", f"{NVMET}/addr_traddr": OWN, f"{NVMET}/subsystems/nqn.a/attr": ""},
        "the NVMe target's port 1",
    ),
    "iSER": (session("iscsi_iser"), "the iSER session of session1"),
    "iSER target": ({f"{LIO}/{OWN}:3260/iser": "1"}, f"the iSER portal {OWN}:3260 of"),
}
"""The users that tell an address, by which their port is found."""
ANYWHERE: dict[str, tuple[Files, str]] = {
    "NFS server": ({"/proc/fs/nfsd/portlist": "tcp 2049\nrdma 20049\n"}, "the NFS server (rdma 20049)"),
    "NVMe target on any": ({f"{NVMET}/addr_trtype": "rdma", f"{NVMET}/addr_traddr": "0.0.0.0"}, "port 1"),
    "iSER target on any": ({f"{LIO}/[::]:3260/iser": "1"}, "the iSER portal [::]:3260"),
    "ksmbd": ({"/sys/class/ksmbd-control/stats": "2 running 445 0\n"}, "ksmbd"),
    "SRP target": ({"/sys/kernel/config/target/srpt/0xfe80/0xfe80/enable": "1"}, "the SRP target 0xfe80"),
    "RDS": ({"/sys/module/rds_rdma/refcnt": "2"}, "RDS"),
    "Lustre": ({"/sys/module/ko2iblnd/refcnt": "1"}, "Lustre"),
    "RTRS": ({"/sys/class/rtrs-client/a@b/x": ""}, "the RTRS session a@b"),
}
NONE: dict[str, Files] = {
    "NFS over TCP": {MOUNT: f"a:/b /srv nfs4 rw,proto=tcp,addr={PEER} 0 0\n"},
    "NFS server over TCP": {"/proc/fs/nfsd/portlist": "tcp 2049\nudp 2049\n"},
    "SMB over TCP": {MOUNT: f"//a/b /srv cifs rw,addr={PEER} 0 0\n"},
    "NVMe over TCP": {f"{NVME}/transport": "tcp", f"{NVME}/address": f"traddr={PEER}"},
    "NVMe on PCI": {f"{NVME}/transport": "pcie", f"{NVME}/address": "0000:01:00.0"},
    "NVMe target over TCP": {f"{NVMET}/addr_trtype": "tcp", f"{NVMET}/addr_traddr": OWN},
    "iSCSI over TCP": session("iscsi_tcp"),
    "iSCSI target over TCP": {f"{LIO}/{OWN}:3260/iser": "0"},
    "a module that only another one needs": {
        "/sys/module/smc/refcnt": "1",
        "/sys/module/smc/holders/smc_diag/x": "",
    },
    "ksmbd that has stopped": {"/sys/class/ksmbd-control/stats": "2 shutdown 445 0\n"},
    "damaged lines": {MOUNT: "\n \na b\n, , , ,\n", f"{NVME}/transport": "", "/proc/fs/nfsd/portlist": "\0"},
}


def with_files(files: Files) -> FakeHost:
    """A host whose bond0 has an address, with what the subsystems show."""
    host = FakeHost()
    host.network.addresses["bond0"] = [OWN]
    routes = "bond0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    host.disk.install("/proc/net/route", routes.encode(), 0o444)
    six = f"20010db8{'0' * 24} 40 {'0' * 32} 00 {'0' * 32} 00000100 00000001 00000000 00000001 bond0\n"
    host.disk.install("/proc/net/ipv6_route", six.encode(), 0o444)
    for path, text in files.items():
        if path.startswith("link "):
            host.disk.link(path.removeprefix("link "), text)
        else:
            host.disk.install(path, text.encode(), 0o444)
    return host


def uses(host: FakeHost) -> dict[str, users.KernelUses]:
    return users.of_kernel(host, [pf.port for pf in discover.observe(host).pfs])


@pytest.mark.parametrize("what", TOLD)
def test_it_is_found_at_the_ports_of_the_bond_that_it_works_over(what: str) -> None:
    files, words = TOLD[what]
    found = uses(with_files(files))
    assert [*found] == ["0000:3b:00.0", "0000:3b:00.1"]
    for each in found.values():
        assert words in " ".join(each.sure)
        assert each.perhaps == ()


@pytest.mark.parametrize("what", TOLD)
def test_it_is_not_found_at_the_ports_of_another_bond(what: str) -> None:
    host = with_files(TOLD[what][0])
    host.network.addresses["bond0"] = []
    for path in ("/proc/net/route", "/proc/net/ipv6_route"):
        host.disk.install(path, host.files.read(path).replace("bond0", "bond1").encode(), 0o444)
    found = uses(host)
    assert not any(each.sure for each in found.values())


@pytest.mark.parametrize("what", ANYWHERE)
def test_what_does_not_tell_its_port_may_use_any(what: str) -> None:
    files, words = ANYWHERE[what]
    found = uses(with_files(files))
    for each in (found["0000:3b:00.0"], found["0000:3b:00.1"]):
        assert words in " ".join(each.perhaps)
        assert each.sure == ()


def test_srp_tells_the_device() -> None:
    host = with_files({f"{HOST}/local_ib_device": "mlx5_1"})
    host.cards[0].rdma = True
    host.network.bonds.clear()
    host.members_changed()
    host.sleep(10)
    assert [*uses(host)] == ["0000:3b:00.1"]


@pytest.mark.parametrize("what", NONE)
def test_what_uses_no_rdma_is_not_named(what: str) -> None:
    assert kernelrdma.users(with_files(NONE[what])) == []
    assert uses(with_files(NONE[what])) == {}


def test_an_internal_port_of_open_vswitch_stands_on_the_ports_in_its_datapath() -> None:
    host = with_files({MOUNT: f"a:/b /srv nfs4 rw,proto=rdma,addr={PEER} 0 0\n"})
    host.disk.install(
        "/proc/net/route", host.files.read("/proc/net/route").replace("bond0", "br-nvda").encode(), 0o444
    )
    assert [*uses(host)] == ["0000:3b:00.0", "0000:3b:00.1"]
