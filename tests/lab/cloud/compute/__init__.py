# SPDX-License-Identifier: Apache-2.0
"""What nova-compute runs in place of virtual machines; on a node it is the package nova.virt.lab."""
