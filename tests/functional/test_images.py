# SPDX-License-Identifier: Apache-2.0
"""The recipes of the acceptance test's images, run by a real cloud-init in a new Debian 12, without a guest.

Debian has DPDK, but neither NVIDIA's driver nor TRex: an archive with TRex' names stands for it, and the
recipe for CUDA has to say what it lacks.
"""

import hashlib
import io
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from lab import host

pytestmark = pytest.mark.thorough

RECIPES = Path(__file__).parents[2] / "tools/acceptance/images"
PARTS = ("t-rex-64", "automation/trex_control_plane/interactive/trex/stl.py")
RUN = r"""
set -eu
# As in an instance. That of somebody who is not root lacks the folder of the recipes' programs.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
root=$1 here=$(dirname "$0")
seed=$root/var/lib/cloud/seed/nocloud
mkdir -p "$seed"
cp "$here/user-data" "$seed"
cp "$here/trex.tar.gz" "$root/srv"
echo 'instance-id: recipe' > "$seed/meta-data"
# Only the modules that the recipes use: none that names, reaches or powers off the machine.
cat > "$root/etc/cloud/cloud.cfg.d/99-recipe.cfg" << END
datasource_list: [NoCloud, None]
network: {config: disabled}
cloud_init_modules: [write-files]
cloud_config_modules: [apt-configure, runcmd]
cloud_final_modules: [package-update-upgrade-install, scripts-user]
END
# The boot loader is the machine's own: what it would add to the kernel's command line.
cat > "$root/usr/sbin/update-grub" << 'END'
#!/bin/sh
. /etc/default/grub.d/60-huge-pages.cfg
echo "options:$GRUB_CMDLINE_LINUX_DEFAULT"
END
chmod 755 "$root/usr/sbin/update-grub"
chroot "$root" cloud-init schema --config-file /var/lib/cloud/seed/nocloud/user-data
for stage in "init --local" init "modules --mode=config" "modules --mode=final"; do
    chroot "$root" cloud-init $stage || true
done
[ ! -e "$root/var/lib/image-ready" ] || echo powers off
"""


def archive(path: Path) -> str:
    """An archive as TRex' is laid out; its digest."""
    with tarfile.open(path, "w:gz") as file:
        for name in PARTS:
            member = tarfile.TarInfo(f"v2.87/{name}")
            member.mode = 0o755
            file.addfile(member, io.BytesIO())
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cloud_init(name: str) -> str:
    """Return cloud-init's output while it follows a recipe, with TRex' stand-in."""
    host.require()
    # Other user ids read this folder where mmdebstrap runs without root.
    with tempfile.TemporaryDirectory(prefix="ovn-lab-", dir="/var/tmp") as folder:
        work = Path(folder)
        work.chmod(0o755)
        digest = archive(work / "trex.tar.gz")
        text = (RECIPES / name).read_text()
        text = re.sub(r"TREX_URL=\S+", "TREX_URL=file:///srv/trex.tar.gz", text)
        text = text.replace("TREX_SHA256=\n", f"TREX_SHA256={digest}\n")
        (work / "user-data").write_text(text)
        (work / "run").write_text(RUN)
        command = ["mmdebstrap", "--quiet", "--variant=apt", "--include=cloud-init,ca-certificates,kmod"]
        command += [f'--customize-hook=sh {work}/run "$1"', "bookworm", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Valid cloud-config" in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_dpdk_is_installed_and_tried_and_trex_unpacked_before_the_image_is_ready() -> None:
    printed = cloud_init("dpdk.yaml")
    assert "options: default_hugepagesz=1G hugepagesz=1G hugepages=2" in printed
    assert re.search(r"^image: ready: DPDK 22\.11\S+, TRex, 2 huge pages", printed, re.MULTILINE)
    assert "powers off" in printed


def test_without_nvidias_packages_the_image_for_cuda_is_not_ready() -> None:
    printed = cloud_init("cuda.yaml")
    assert "image: not ready: the packages of driver 535-server or of CUDA cannot be installed" in printed
    assert "powers off" not in printed
