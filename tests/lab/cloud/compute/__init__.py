# SPDX-License-Identifier: Apache-2.0
"""The driver that nova-compute runs in place of virtual machines; on a node it is nova.virt.lab."""
