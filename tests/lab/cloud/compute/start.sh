#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a compute node, as root: starts libvirt and nova-compute from the cloud's disk; nova.conf is in /run/nova.conf.
# The files they write are below /var/lib/cloud. usage: start.sh LARGE-PAGES
set -eu
root=/opt/cloud/root
if ! mountpoint -q "$root"; then
    mkdir -p /opt/cloud/disk "$root" /var/lib/cloud/upper /var/lib/cloud/work
    mount -o ro LABEL=cloud /opt/cloud/disk
    mount -t overlay -o "lowerdir=/opt/cloud/disk,upperdir=/var/lib/cloud/upper,workdir=/var/lib/cloud/work" overlay "$root"
    # The image has no large pages until somebody wants them.
    mountpoint -q /dev/hugepages || { mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages; }
    mkdir -p "$root/lib/modules" # libvirt looks there for the driver that takes a VF for a virtual machine
    for name in dev proc sys run lib/modules; do mount --rbind "/$name" "$root/$name"; done
fi
sync
echo 3 >/proc/sys/vm/drop_caches
echo 1 >/proc/sys/vm/compact_memory
echo "$1" >/proc/sys/vm/nr_hugepages
[ "$(cat /proc/sys/vm/nr_hugepages)" = "$1" ] || { echo "the kernel has no $1 large pages" >&2; exit 1; }
mkdir -p "$root/var/log/cloud" /var/log/cloud "$root/var/lib/nova/tmp" "$root/var/lib/nova/instances"
mount --bind "$root/var/log/cloud" /var/log/cloud
cp /run/nova.conf "$root/etc/nova/nova.conf"
cp -rT /opt/ovn-offload/tests/lab/cloud/compute "$root/usr/lib/python3/dist-packages/nova/virt/lab"
cat >"$root/etc/libvirt/qemu.conf" <<END
user = "root"
group = "root"
security_driver = "none"
namespaces = []
cgroup_controllers = []
remember_owner = 0
hugetlbfs_mount = "/dev/hugepages"
END
# Ubuntu's package libvirt-daemon-system, without which libvirt runs here, would make them. The driver looks for them
# although qemu.conf names root, and libvirtd ends where they are missing.
grep -q ^libvirt-qemu: "$root/etc/passwd" ||
    chroot "$root" useradd --system --no-create-home --shell /usr/sbin/nologin libvirt-qemu
grep -q ^kvm: "$root/etc/group" || chroot "$root" groupadd --system kvm
# The netdev of a VF with a server's address keeps the kernel's name: it is about to move to a namespace.
mkdir -p /run/udev/rules.d
echo 'SUBSYSTEM=="net", ACTION=="add", ATTR{address}=="fa:16:3e:*", NAME="$kernel"' >/run/udev/rules.d/79-lab-servers.rules
udevadm control --reload
run() {
    name=$1
    shift
    # systemd may still know the service of an earlier start, and then refuses a new one of that name.
    if systemctl -q start "$name.service" 2>/dev/null; then return; fi
    systemd-run --quiet --unit="$name" --property=StandardOutput="append:/var/log/cloud/$name.log" \
        --property=StandardError="append:/var/log/cloud/$name.log" chroot "$root" /usr/bin/env \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}
modprobe vfio-pci # the chroot has no modprobe
run virtlogd virtlogd
run libvirtd libvirtd
# Its socket is there before its drivers are.
until chroot "$root" virsh -q uri >/dev/null 2>&1; do
    systemctl -q is-active libvirtd || { journalctl -q --no-pager -o cat -u libvirtd -n 20 >&2; exit 1; }
    sleep 0.5
done
run nova-compute python3 -m nova.virt.lab.launch --config-file /etc/nova/nova.conf
