# SPDX-License-Identifier: Apache-2.0
"""ssh among compute nodes, by which Nova copies the disk of a server that it moves cold.

In production the charm nova-compute exchanges the keys (its option enable-resize). Here nova-compute is in a
chroot without ssh: it gets the node's own, and the node has the folder of its servers at the same path.
"""

from lab.cloud.node import ROOT
from lab.guest import Guest

FOLDER = "/run/lab-ssh"
SERVERS = "/var/lib/nova/instances"
SERVER = f"""\
Port 2022
HostKey {FOLDER}/key
AuthorizedKeysFile {FOLDER}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
Subsystem sftp internal-sftp
"""
CLIENT = f"""\
Host *
    Port 2022
    User root
    IdentityFile {FOLDER}/key
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""
START = f"""set -e
mkdir -p /run/sshd {SERVERS}
mountpoint -q {SERVERS} || mount --bind {ROOT}{SERVERS} {SERVERS}
for name in ssh scp; do
    rm -f {ROOT}/usr/bin/$name
    echo '#!/bin/sh' >{ROOT}/usr/bin/$name
    echo "exec chroot /proc/1/root /usr/bin/$name -F {FOLDER}/config \\"\\$@\\"" >>{ROOT}/usr/bin/$name
    chmod 755 {ROOT}/usr/bin/$name
done
systemctl -q is-active lab-ssh.service ||
    systemd-run --quiet --unit=lab-ssh /usr/sbin/sshd -D -e -f {FOLDER}/sshd_config
"""
"""Also after a boot, once nova-compute's chroot is there (:func:`lab.cloud.node.start`)."""

Pair = tuple[str, str]
"""A key, and its public half."""
YES = "yes"


def pair(guest: Guest) -> Pair:
    """A new pair of keys, made where ssh is; empty where there is none."""
    make = "ssh-keygen -q -t ed25519 -N '' -C lab -f key"
    if guest.run(f"mkdir -p {FOLDER} && cd {FOLDER} && rm -f key key.pub && {make}", check=False).returncode:
        return "", ""
    return guest.read(f"{FOLDER}/key"), guest.read(f"{FOLDER}/key.pub")


def enable(guest: Guest, keys: Pair) -> str:
    """Let a node copy to the others that have the same keys, and these to it: :data:`YES`, or why not."""
    private, public = keys
    guest.write(f"{FOLDER}/key", private, 0o600)
    guest.write(f"{FOLDER}/key.pub", public)
    guest.write(f"{FOLDER}/sshd_config", SERVER)
    guest.write(f"{FOLDER}/config", CLIENT)
    done = guest.run(START, check=False, timeout=120)
    return f"{done.stdout}{done.stderr}".strip()[-300:] if done.returncode else YES
