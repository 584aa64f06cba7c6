# SPDX-License-Identifier: Apache-2.0
"""KVM, when a guest really starts with it; software emulation otherwise.

``/dev/kvm`` may exist and still not run a stock kernel (nested clouds), so the image's own kernel is started
with it once; the answer holds until the host reboots.
"""

import os
import subprocess
from pathlib import Path

from lab import host
from lab.image import Image
from lab.progress import Step

# A richer processor than Debian needs only makes emulation slower: wide vectors, five-level page tables.
TCG = ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"]
KVM = ["-accel", "kvm", "-cpu", "max"]


def _starts(image: Image, timeout: float = 20) -> bool:
    command = [
        "qemu-system-x86_64", *KVM, "-m", "512", "-nodefaults", "-display", "none", "-serial", "stdio",
        "-no-reboot", "-kernel", str(image.kernel), "-initrd", str(image.initrd),
        "-append", "console=ttyS0 quiet lab.probe panic=-1",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired:
        return False
    return b"lab-probe-ok" in done.stdout


def accelerator(image: Image) -> list[str]:
    """QEMU's arguments for the accelerator that works on this host."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return TCG
    answer = host.cache() / "kvm"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    if not answer.exists() or not answer.read_text().startswith(boot):
        with Step("Trying KVM") as step:
            works = _starts(image)
            step.note("works" if works else "does not start a guest here: software emulation")
        answer.write_text(f"{boot} {'yes' if works else 'no'}")
    return KVM if answer.read_text().endswith("yes") else TCG
