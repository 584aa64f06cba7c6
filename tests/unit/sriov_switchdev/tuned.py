# SPDX-License-Identifier: Apache-2.0
"""How kernels show a compute node's tuning: files as Ubuntu 22.04 (5.15) and 24.04 (6.8) have them."""

from lab.modelled import FakeHost
from lab.modelled.nic.pcispace import FakeBridge, FakeGpu

PF0, PF1, GPU = "0000:3b:00.0", "0000:3b:00.1", "0000:3c:00.0"
ROOT, UPSTREAM = "0000:3a:00.0", "0000:3b:08.0"
NOVA = """\
[DEFAULT]
verbose=True
transport_url = rabbit://nova:{secret}@172.18.0.9:5672/openstack
reserved_host_memory_mb = 32768

[compute]
cpu_dedicated_set = 2-23

[pci]
passthrough_whitelist = [{{"devname": "enp59s0f0np0", "physical_network": null}}]
"""


class Tuned:
    """A host whose files say that it is tuned as the reference design is; a test spoils one of them."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        cpu, node = "/sys/devices/system/cpu", "/sys/devices/system/node"
        self.write(f"{cpu}/online", "0-47\n")
        self.write(f"{cpu}/isolated", "2-23\n")
        self.write(f"{cpu}/smt/control", "off\n")
        for number in range(48):
            self.write(f"{cpu}/cpufreq/policy{number}/scaling_governor", "performance\n")
        for state, (name, latency) in enumerate((("POLL", 0), ("C1", 2))):
            self.write(f"{cpu}/cpu2/cpuidle/state{state}/name", f"{name}\n")
            self.write(f"{cpu}/cpu2/cpuidle/state{state}/latency", f"{latency}\n")
            self.write(f"{cpu}/cpu2/cpuidle/state{state}/disable", "0\n")
        self.write("/sys/class/thermal/cooling_device0/type", "Processor\n")
        self.write("/sys/class/thermal/cooling_device0/max_state", "3\n")
        self.write("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=UUID=1f-2e ro iommu=pt isolcpus=2-23\n")
        for number, cpus in enumerate(("0-23", "24-47")):
            self.write(f"{node}/node{number}/cpulist", f"{cpus}\n")
            self.write(f"{node}/node{number}/hugepages/hugepages-1048576kB/nr_hugepages", "48\n")
            self.write(f"{node}/node{number}/hugepages/hugepages-2048kB/nr_hugepages", "0\n")
        self.write("/proc/meminfo", "MemTotal:       263735920 kB\nMemFree:        90000000 kB\n")
        self.write("/proc/sys/kernel/numa_balancing", "0\n")
        self.write("/sys/kernel/iommu_groups/42/type", "identity\n")
        self.write("/etc/nova/nova.conf", NOVA.format(secret="s3cret"), 0o640)
        for bdf in (PF0, PF1):
            host.disk.link(
                f"/sys/bus/pci/devices/{bdf}", f"../../../devices/pci0000:3a/{ROOT}/{UPSTREAM}/{bdf}"
            )

    def write(self, path: str, text: str, mode: int = 0o444) -> None:
        """Have a file say this."""
        self.host.disk.install(path, text.encode(), mode)

    def remove(self, prefix: str) -> None:
        """Take the files below a path away."""
        for path in [path for path in self.host.disk.content if path.startswith(prefix)]:
            self.host.disk.remove(path)
        self.host.disk.directories = {
            each for each in self.host.disk.directories if not each.startswith(prefix)
        }

    def plug_gpu(self, root: str = ROOT, upstream: str = UPSTREAM, acs: int = 0x5D) -> None:
        """An A100 below these bridges, which have this ACS."""
        self.host.gpus[GPU] = FakeGpu()
        self.host.bridges = {ROOT: FakeBridge(acs=acs), UPSTREAM: FakeBridge(acs=acs)}
        target = f"../../../devices/pci0000:3a/{root}/{upstream}/{GPU}"
        self.host.disk.link(f"/sys/bus/pci/devices/{GPU}", target)
        self.write("/proc/cpuinfo", "vendor_id\t: GenuineIntel\n")
