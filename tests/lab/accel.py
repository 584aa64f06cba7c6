# SPDX-License-Identifier: Apache-2.0
"""KVM, when a guest really starts with it; software emulation otherwise.

``/dev/kvm`` may exist and still not run a stock kernel (nested clouds), so the image's own kernel is started
with it once; the answer holds until the host reboots.
"""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from lab import store
from lab.image import Image
from lab.progress import Step

KVM = ["-accel", "kvm", "-cpu", "max"]
FAST = "it works: guests run as fast as this machine"
SLOW = "guests are emulated, and take several times as long"
PARALLEL_SINCE = (8, 1)
"""The first QEMU whose emulated processors may run side by side.

Before it, one processor may translate code that another one is patching: a jump label's breakpoint stays
behind in the translation, and the guest panics with ``int3`` now and then, mostly as it boots. QEMU 8.1 locks
the page ("accel/tcg: Always lock pages before translation"). Two guests on two processors of the host lose
nothing by taking turns inside each.
"""


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


def _emulation() -> list[str]:
    # A richer processor than Debian needs only makes emulation slower: wide vectors, five-level page tables.
    # Without cx16: QEMU 7.2 works out cmpxchg16b's flags from what an earlier instruction left, so that an
    # interrupt right after one may save a pointer's bits as EFLAGS ("PANIC: double fault" in kmalloc).
    version = re.search(r"version (\d+)\.(\d+)", qemu_version())
    parallel = version and tuple(map(int, version.groups())) >= PARALLEL_SINCE
    return ["-accel", f"tcg,thread={'multi' if parallel else 'single'}", "-cpu", "Nehalem,-cx16"]


@cache
def qemu_version() -> str:
    """Return QEMU's own words on its version."""
    command = ["qemu-system-x86_64", "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def accelerator(image: Image) -> list[str]:
    """QEMU's arguments for the accelerator that works on this host."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        _say_why_not()
        return _emulation()
    answer = store.folder() / "kvm"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    if not answer.exists() or not answer.read_text().startswith(boot):
        with Step("Trying KVM") as step:
            works = _starts(image)
            step.note(FAST if works else f"no guest starts with it here: {SLOW}")
        answer.write_text(f"{boot} {'yes' if works else 'no'}")
    return KVM if answer.read_text().endswith("yes") else _emulation()


@cache
def _say_why_not() -> None:
    """Once, that guests are emulated although nobody has tried KVM."""
    with Step("Trying KVM") as step:
        if Path("/dev/kvm").exists():
            change = "for KVM run sudo usermod -aG kvm $USER, and log in again"
            step.note(f"this user may not open /dev/kvm: {SLOW}; {change}")
        else:
            step.note(f"this machine has no /dev/kvm: {SLOW}")
