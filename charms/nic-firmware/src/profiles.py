# SPDX-License-Identifier: Apache-2.0
"""What each profile sets, with the source of each value. ``_Pn`` stands for each port of the NIC."""

OVN_OFFLOAD = {
    "NUM_VF_MSIX": "63",  # RDG: a queue pair for each of an instance's cores
    "LINK_TYPE_Pn": "ETH",
}
"""With SRIOV_EN and NUM_OF_VFS, whose number comes from num-vfs and from sriov-switchdev."""

THROUGHPUT = {
    "ADVANCED_PCI_SETTINGS": "1",
    "MAX_ACC_OUT_READ": "44",  # RDG: read requests in flight for 100 Gb/s at PCIe 4.0
}

GPUDIRECT = {
    "ATS_ENABLED": "1",  # GPUDirect RDMA inside virtual machines
}

PROFILES = {"ovn-offload": OVN_OFFLOAD, "throughput": THROUGHPUT, "gpudirect": GPUDIRECT}
