# SPDX-License-Identifier: Apache-2.0
"""The systems that guests run: a distribution's release with one of its kernels."""

from dataclasses import dataclass
from pathlib import Path

UBUNTU_KEY = Path(__file__).parent / "images/F6ECB3762474EDA9D21B7022871920D1991BC93C.asc"
"""Ubuntu's archive key of 2018, named by its fingerprint: Debian has no package of it."""

PACKAGES = [
    *("systemd-sysv", "udev", "dbus", "kmod", "make", "busybox-static"),
    *(
        "openvswitch-switch",
        "netplan.io",
        "iproute2",
        "iputils-ping",
        "ethtool",
        "pciutils",
        "mstflint",
        "tcpdump",
    ),
    *("python3", "python3-yaml", "qemu-guest-agent"),
    *("ovn-central", "ovn-host", "iperf3"),  # the rack's overlay
    *("bc", "jq", "net-tools"),  # what NVIDIA's ovs-tests call
    "openssh-server",  # calibrate/ reaches a server's card through it
    *("rdma-core", "ibverbs-providers", "rdmacm-utils", "perftest"),  # RoCE over rdma_rxe
]
"""The packages of each of them besides its kernel."""


@dataclass(frozen=True)
class Release:
    """One system: a distribution's release with one of its kernels."""

    name: str
    """In LAB_RELEASES."""
    title: str
    """For people."""
    suite: str
    """The distribution's name of the release, from which mmdebstrap knows the mirrors."""
    python: str
    systemd: int
    linux: tuple[int, int]
    kernel: tuple[str, ...]
    """The source of the kernel, its headers and its compiler: packages, or apt's patterns."""
    extra: tuple[str, ...] = ()
    ubuntu: bool = True

    @property
    def packages(self) -> list[str]:
        return [*PACKAGES, *self.kernel, *self.extra]

    @property
    def mmdebstrap(self) -> list[str]:
        """Options that mmdebstrap needs for this distribution.

        Ubuntu's packages expect /bin and its like to be links into /usr, which no package of jammy makes.
        """
        if not self.ubuntu:
            return []
        links = 'cd "$1"; for name in bin sbin lib lib64; do mkdir -p usr/$name; ln -s usr/$name $name; done'
        return ["--components=main,universe", f"--keyring={UBUNTU_KEY}", f"--setup-hook={links}"]


def _ubuntu_kernel(image: str, archive: str, compiler: str) -> tuple[str, ...]:
    """The packages that Ubuntu's metapackage of a kernel names, without firmware and microcode (800 MB).

    An apt pattern finds them, since their names have the kernel's version, which changes every few weeks.
    """
    newest = f"?narrow(?exact-name({image}),?archive(^{archive}$))"
    named = f"?and(?reverse-depends({newest}),?name(-generic$))"
    return named, image.replace("image", "headers"), compiler


RELEASES = {
    release.name: release
    for release in (
        Release(
            "jammy", "Ubuntu 22.04 with kernel 6.8", "jammy", "3.10", 249, (6, 8),
            _ubuntu_kernel("linux-image-generic-hwe-22.04", "jammy-updates", "gcc-12"),
        ),
        Release(
            "jammy-5.15", "Ubuntu 22.04 with kernel 5.15", "jammy", "3.10", 249, (5, 15),
            _ubuntu_kernel("linux-image-generic", "jammy-updates", "gcc"),
        ),
        Release(
            "noble", "Ubuntu 24.04 with kernel 6.8", "noble", "3.12", 255, (6, 8),
            _ubuntu_kernel("linux-image-generic", "noble-updates", "gcc"), ("zstd",),
        ),
        Release(
            "noble-7.0", "Ubuntu 24.04 with kernel 7.0", "noble", "3.12", 255, (7, 0),
            _ubuntu_kernel("linux-image-generic-hwe-24.04", "noble-updates", "gcc"), ("zstd",),
        ),
        Release(
            "trixie", "Debian 13", "trixie", "3.13", 257, (6, 12),
            ("linux-image-amd64", "linux-headers-amd64"), ("frr", "lldpd"), ubuntu=False,
        ),
        Release(
            "bookworm", "Debian 12", "bookworm", "3.11", 252, (6, 1),
            ("linux-image-amd64", "linux-headers-amd64"), ubuntu=False,
        ),
    )
}  # fmt: skip

SWITCHES = "trixie"
"""The release of switches (twin/): EVPN multihoming over one VXLAN device needs this kernel and this FRR."""
