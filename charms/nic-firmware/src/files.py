# SPDX-License-Identifier: Apache-2.0
"""What the charm installs on a host for the profile gpudirect: the boot copy, its unit, what it reads."""

from hostnic.boot import units
from hostnic.boot.bootcopy import BootCopy

COPY = BootCopy("nic-firmware", ("boot", "files", "gpu"))
"""What the unit runs of this charm: nothing that speaks to Juju or reads options."""

WANTED = "/etc/ovn-offload/nic-firmware.json"
UNIT = "ovn-offload-gpudirect.service"
PATHS = (WANTED, units.path(UNIT))
"""Every small file, in the order of removal."""

UNIT_TEXT = f"""# Installed by the charm nic-firmware; local changes are overwritten.
[Unit]
Description=Make PCI bridges and NICs fit for GPUDirect before instances start
After=local-fs.target systemd-udev-settle.service
Wants=systemd-udev-settle.service
Before=libvirtd.service virtqemud.service libvirt-guests.service nova-compute.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={COPY.command}
TimeoutStartSec=120

[Install]
WantedBy=multi-user.target
"""
