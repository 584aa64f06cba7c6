# SPDX-License-Identifier: Apache-2.0
"""The user-data for a stock Ubuntu: packages, and the RDG's tuning as a unit that runs at each boot.

The tuning is perf_tune.sh for each mlx5 netdev: irqbalance off, as many queues as CPUs, one interrupt on each
CPU, aRFS. images/ has the recipes for images with DPDK, TRex or CUDA.
"""

import yaml

from acceptance.sitefile import SiteFile

PACKAGES = ("ethtool", "iperf3", "rdma-core", "rdmacm-utils", "sysstat")
"""rdmacm-utils has rping. perftest is left to an image with CUDA, which has its own build of it."""
MODULES = "modprobe -nqa pktgen uio_pci_generic || apt-get install -y linux-modules-extra-$(uname -r)"
"""The kernel of a cloud image may come without its packet generator, or without what gives DPDK a port."""
TUNE = """\
#!/bin/bash
# Tune each mlx5 netdev of this guest as NVIDIA's reference design does.
systemctl stop irqbalance 2>/dev/null
echo 32768 > /proc/sys/net/core/rps_sock_flow_entries
cpus=$(nproc)
for device in /sys/class/net/*/device; do
    [ "$(basename "$(readlink -f "$device/driver")")" = mlx5_core ] || continue
    netdev=$(basename "$(dirname "$device")")
    ethtool -L "$netdev" combined "$cpus" 2>/dev/null
    ethtool -K "$netdev" ntuple on
    for queue in /sys/class/net/"$netdev"/queues/rx-*/rps_flow_cnt; do echo 32768 > "$queue"; done
    cpu=0
    for irq in $(ls "$device/msi_irqs" | sort -n); do
        echo $cpu > /proc/irq/$irq/smp_affinity_list
        cpu=$(((cpu + 1) % cpus))
    done
done
"""
UNIT = """\
[Unit]
Description=Tune the mlx5 netdevs as NVIDIA's reference design does
After=network-online.target irqbalance.service
Wants=network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/offload-tune
[Install]
WantedBy=multi-user.target
"""


def user_data(site: SiteFile) -> str:
    """cloud-init's configuration of every server."""
    packages = [*PACKAGES, *([] if "cuda" in site.software else ["perftest"])]
    files = [
        {"path": "/usr/local/sbin/offload-tune", "permissions": "0755", "content": TUNE},
        {"path": "/etc/systemd/system/offload-tune.service", "content": UNIT},
    ]
    commands = [
        ["systemctl", "disable", "--now", "irqbalance"],
        ["systemctl", "enable", "--now", "offload-tune"],
        ["sh", "-c", MODULES],
    ]
    content = {"package_update": True, "packages": packages, "write_files": files, "runcmd": commands}
    return "#cloud-config\n" + yaml.safe_dump(content, sort_keys=False)
