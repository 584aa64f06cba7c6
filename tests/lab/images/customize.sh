#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs in the new system's chroot: builds the card's module and the initial RAM disk, settles what is started at boot.
set -eu
kernel=$(ls /lib/modules)

echo "building the virtual card for $kernel"
make -s -C /usr/src/card KDIR="/lib/modules/$kernel/build"
install -D -m 644 -t "/lib/modules/$kernel/updates" /usr/src/card/mlx5_core.ko /usr/src/card/mlx5_ib.ko
# It calls the real mlx5_core. Without it libvirt (since 10.0) takes vfio-pci for a VF.
rm -f "/lib/modules/$kernel/kernel/drivers/vfio/pci/mlx5/"*
depmod "$kernel"

echo "unpacking the modules that a guest loads"
early="virtio_pci virtio_blk ext4"
for module in $early $(cat /etc/modules-load.d/lab.conf) veth geneve vxlan cls_flower rdma_rxe; do
    modprobe -S "$kernel" --show-depends "$module"
done | while read -r _ path _; do
    case $path in
    *.xz) [ ! -f "$path" ] || { busybox xz -dc "$path" >"${path%.xz}" && rm "$path"; } ;;
    *.zst) [ ! -f "$path" ] || zstd -q -d --rm "$path" ;;
    esac
done
depmod "$kernel"

echo "compiling Python packages"
python3 -m compileall -q -j 0 /opt/site-packages >/dev/null || true # some of setuptools' fixtures are not Python

echo "making the initial RAM disk"
ram=$(mktemp -d)
mkdir -p "$ram/bin" "$ram/lib" "$ram/dev" "$ram/proc" "$ram/root"
cp /bin/busybox "$ram/bin/"
: >"$ram/modules" # stays empty with Ubuntu's kernels, which have these drivers built in
for tool in sh mount umount cat echo insmod sleep poweroff switch_root; do ln -s busybox "$ram/bin/$tool"; done
for module in $early; do modprobe -S "$kernel" --show-depends "$module"; done |
    while read -r _ path _; do
        name=$(basename "$path")
        [ ! -f "$path" ] || [ -f "$ram/lib/$name" ] && continue # "builtin", or there
        cp "$path" "$ram/lib/"
        echo "$name" >>"$ram/modules"
    done
install -m 755 /usr/lib/lab/init "$ram/init"
(cd "$ram" && find . | busybox cpio -o -H newc 2>/dev/null) >/boot/lab-initrd
rm -r "$ram"

echo "settling units"
systemctl -q enable lab-tor.service lab-juju.socket
# What a test starts itself: the overlay's daemons, sshd, and trixie's for the twin.
for unit in ovn-central ovn-host iperf3 frr lldpd ssh; do systemctl -q disable "$unit.service" 2>/dev/null || true; done
systemctl -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer logrotate.timer getty@tty1.service serial-getty@ttyS0.service serial-getty@hvc0.service systemd-logind.service systemd-pstore.service \
    systemd-update-utmp.service systemd-random-seed.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount \
    systemd-udev-load-credentials.service systemd-hibernate-clear.service systemd-creds.socket sys-fs-fuse-connections.mount \
    modprobe@drm.service modprobe@fuse.service modprobe@configfs.service modprobe@efi_pstore.service \
    dev-hugepages.mount dev-mqueue.mount sys-kernel-tracing.mount sys-kernel-config.mount run-lock.mount tmp.mount
# It takes away what an earlier netplan file had set in Open vSwitch. Here is no earlier one, and netplan's own command
# is a fifth of a boot under emulation.
systemctl -q mask netplan-ovs-cleanup.service
# Since systemd 256 it has sshd listen for a hypervisor's sockets, of which QEMU has none, and says so at each boot.
mkdir -p /etc/systemd/system-generators
ln -s /dev/null /etc/systemd/system-generators/systemd-ssh-generator
passwd -q -d root
echo 0b5e0a0fff0a4d6c9c1f5ed6a1a8f0c3 >/etc/machine-id
touch -d '+1 minute' /etc/.updated /var/.updated # no first-boot updates
echo node-1 >/etc/hostname
: >/etc/fstab
echo "LABEL=ovn-offload /opt/ovn-offload ext4 ro,nofail,x-systemd.device-timeout=300s 0 0" >>/etc/fstab
mkdir -p /opt/ovn-offload /var/lib/lab
rm -rf /usr/src/linux-* /usr/lib/gcc /usr/lib/modules/*/build /usr/lib/modules/*/source /var/cache/apt/*.bin
rm -rf /boot/initrd.img-* /usr/src/card
chmod 600 /etc/netplan/*.yaml # netplan warns otherwise; git does not keep this mode
