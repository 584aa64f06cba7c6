#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: assemble.sh WORK   (as root of the host, or of a user namespace; own mount namespace)
# Makes WORK/image.ext4, WORK/vmlinuz and WORK/initrd from WORK/base.tar and what lies in WORK/files.
set -eu
work=$1
root=$work/root
mkdir "$root"
echo "unpacking the base system"
tar -C "$root" --exclude './dev/*' -xf "$work/base.tar"
cp -r --no-preserve=ownership "$work/files/." "$root/"
# Linux 7.0's objtool, which the card is built with, reads the limit of its stack in /proc.
for tree in dev proc; do mount --rbind "/$tree" "$root/$tree"; done
chroot "$root" /bin/sh /usr/lib/lab/customize.sh
umount -l "$root/dev" "$root/proc"
cp "$root"/boot/vmlinuz-* "$work/vmlinuz"
mv "$root/boot/lab-initrd" "$work/initrd"
echo "writing the file system"
# With a journal, as servers have one: without it a power cut leaves directories that nobody can read.
mke2fs -q -t ext4 -J size=16 -d "$root" "$work/image.ext4" 4G
chmod 644 "$work/vmlinuz" "$work/initrd" "$work/image.ext4"
rm -rf --one-file-system "$root"
