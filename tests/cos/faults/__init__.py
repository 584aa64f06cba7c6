# SPDX-License-Identifier: Apache-2.0
"""Faults in the series of an exporter, and the alert of each."""

from cos.promtool import series

P0 = {"port": "p0"}
WHO = "node-0 (sriov-switchdev/0)"
OF_VF = {series("vf_packets_total", **P0, vf="2", path="hardware"): "0+120000x90"}
USED = {series("port_used", **P0): "1x90", series("port_present", **P0): "1x90"}
