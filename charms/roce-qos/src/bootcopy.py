# SPDX-License-Identifier: Apache-2.0
"""What of this charm the boot units run: nothing that speaks to Juju or reads options."""

from hostnic.bootcopy import BootCopy

OWN = ("boot", "bootcopy", "desired", "files", "observe", "plan", "record", "steps")

COPY = BootCopy("roce-qos", (*OWN, "charmkit", "charmkit.fabric_qos"))
