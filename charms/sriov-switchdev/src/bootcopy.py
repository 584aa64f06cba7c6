# SPDX-License-Identifier: Apache-2.0
"""What of this charm the boot units run: nothing that speaks to Juju or reads options."""

from hostnic.bootcopy import BootCopy

COPY = BootCopy("sriov-switchdev", ("boot", "bootcopy", "changes", "desired", "live", "record", "steps"))
