# SPDX-License-Identifier: Apache-2.0
"""The files that the charm installs for the profile gpudirect: boot copy, unit, and the unit's input."""

from hostnic.boot import off, sandbox, units
from hostnic.boot.bootcopy import BootCopy
from hostnic.boot.sandbox import Does

COPY = BootCopy("nic-firmware", ("boot", "boot.files", "boot.gpu", "boot.main"))
"""The charm's modules that the unit runs: none that needs Juju or options."""

WANTED = "/etc/ovn-offload/nic-firmware.json"
UNIT = "ovn-offload-gpudirect.service"
PATHS = (WANTED, units.path(UNIT))
"""Every small file, in the order of removal."""

UNIT_TEXT = f"""# Installed by the charm nic-firmware; local changes are overwritten.
[Unit]
Description=Make PCI bridges and NICs fit for GPUDirect before instances start
{off.CONDITION}
After=local-fs.target systemd-udev-settle.service
Wants=systemd-udev-settle.service
Before=libvirtd.service virtqemud.service libvirt-guests.service nova-compute.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={COPY.command}
TimeoutStartSec=120
{sandbox.text(Does.FIRMWARE)}

[Install]
WantedBy=multi-user.target
"""
