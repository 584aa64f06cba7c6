# SPDX-License-Identifier: Apache-2.0
"""A server behind SSH: an `ssh` that runs scripts in bash, on a directory with its sysfs and tools."""

import json
import shutil
import subprocess
from pathlib import Path

from lab.modelled.nic.pcispace import nic_vpd

PORTS = {"0000:3b:00.0": "enp59s0f0np0", "0000:3b:00.1": "enp59s0f1np1"}
OTHER = {"0000:5e:00.0": "enp94s0f0np0", "0000:5e:00.1": "enp94s0f1np1"}
SERIAL = "MT2116X01234"
REAL = (
    "bash cat ls basename readlink awk sed mktemp rm sleep base64 timeout uname touch grep env flock".split()  # noqa: SIM905
)
"""The machine's own tools that the scripts call."""

SSH = r"""#!/bin/bash
while [ "$1" != -- ]; do shift; done
[ ! -e $ROOT/unreachable ] || { echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255; }
$ROOT/outside/remote "$3"
status=$?
[ ! -e $ROOT/unreachable ] || exit 255
exit $status
"""
REMOTE = r"""#!/bin/bash
# usage: remote COMMAND   as the shell that sshd starts
[ ! -e $ROOT/state/greeting ] || tee /dev/stderr <$ROOT/state/greeting
command=$(sed -E "s#(^|[^A-Za-z0-9_.*-])/(sys|var/lib|run|dev/kmsg)#\1$ROOT/\2#g" <<<"$1")
[ ! -e $ROOT/state/lost ] || command="${command%; printf*}; exit 255"
PATH=$ROOT/bin SSH_CONNECTION="$(cat $ROOT/state/client)" bash -c "$command"
"""

TOOLS = r"""#!/bin/bash
tool=${0##*/} state=$ROOT/state
wrote() { echo "$tool $*" >>$ROOT/trace; }
show() { cat "$state/$1" 2>/dev/null; }
case "$tool $*" in
"id -u") show uid ;;
"id -un") echo operator ;;
hostname*) echo server-7 ;;
"ip -j route show table all") show routes ;;
"ip -j -6 route show table all") show routes6 ;;
"ip -j route get "*) show back ;;
"ip link set "*) wrote "$@"
    for word; do case $word in
        up) echo 0x1003 >$ROOT/sys/class/net/$3/flags ;; down) echo 0x1002 >$ROOT/sys/class/net/$3/flags ;;
    esac; done ;;
"devlink dev eswitch show "*) show "eswitch-${4#pci/}" ;;
"devlink dev param show "*) show "param-$6" ;;
"devlink dev eswitch set "*)
    wrote "$@"; pf=${4#pci/}; read -r _ _ mode _ _ _ encap <$state/eswitch-$pf
    case " $*" in *" mode legacy"*) mode=legacy ;; *" mode switchdev"*) mode=switchdev ;; esac
    case "$*" in *"encap-mode none"*) encap=none ;; *"encap-mode basic"*) encap=basic ;; esac
    echo "pci/$pf: mode $mode inline-mode none encap-mode $encap" >$state/eswitch-$pf
    net=$(ls $ROOT/sys/bus/pci/devices/$pf/net) count=8
    [ $mode = legacy ] || count=1  # as mlx5 leaves an uplink with one channel
    printf 'Combined:\t8\nCombined:\t%s\n' $count >$state/ethtool-l-$net ;;
"devlink dev param set "*) wrote "$@" ;;
"devlink dev info "*) echo "      fw.psid MT_0000000359" ;;
"ethtool -"[lgcak]" "*) show "ethtool$1-$2" ;;
"ethtool -L "*) wrote "$@"; printf 'Combined:\t8\nCombined:\t%s\n' $4 >$state/ethtool-l-$2 ;;
"ethtool -"[GCAK]" "*) wrote "$@" ;;
"ethtool --version") echo ethtool version 6.1 ;;
"dcb "*show*) show "dcb-$(case "$*" in *ets*) echo ets ;; *pfc*) echo pfc ;; *) echo app ;; esac)-${*: -1}" ||
    show "dcb-pfc-$4" ;;
"dcb "*) wrote "$@" ;;
"tc qdisc show dev "*) show "qdisc-$4" ;;
"tc qdisc show") for file in $state/qdisc-*; do
        [ ! -e $file ] || echo "qdisc ingress ffff: dev ${file##*/qdisc-} parent ffff:fff1"
    done ;;
"tc qdisc del dev "*) wrote "$@"; rm $state/qdisc-$4 ;;
"mstconfig --version") echo "mstconfig, mstflint 4.21.0" ;;
"systemd-run "*)
    wrote "$@"
    [ ! -e $state/no-systemd-run ] || { echo "Failed to start transient timer unit" >&2; exit 1; }
    case "$*" in *" --wait "*) bash ${*: -1} 2>>$ROOT/journal; exit ;; *StartLimitIntervalSec=0*) ;;
        *) echo 1 >$state/starts ;; # of five within ten seconds; a timer that is refused one is gone
    esac
    echo "${*: -1}" >$ROOT/units/ovn-offload-calibrate.timer ;;
"systemctl -q is-active "*) for unit; do [ ! -e "$ROOT/units/$unit" ] || exit 0; done; exit 3 ;;
"systemctl restart "*) [ -e $ROOT/units/$2 ] || exit 5
    [ -e $state/starts ] || exit 0
    starts=$(($(show starts) + 1)); echo $starts >$state/starts
    [ $starts -le 5 ] || { rm $ROOT/units/$2; exit 1; } ;;
"systemctl start "*) wrote "$@"; bash $(cat $ROOT/units/${2%.service}.timer) 2>>$ROOT/journal ;;
"systemctl stop "*) wrote "$@"; rm $ROOT/units/$2 ;;
"systemctl show "*) echo inactive ;;
esac
"""
NAMES = "ip devlink ethtool tc dcb mstconfig systemctl systemd-run udevadm id hostname dmesg".split()  # noqa: SIM905
MINE = {
    "ethtool-l-{}": "Pre-set maximums:\nCombined:\t8\nCurrent hardware settings:\nCombined:\t6\n",
    "ethtool-g-{}": "RX:\t8192\nTX:\t8192\nCurrent hardware settings:\nRX:\t1024\nTX:\t2048\n",
    "ethtool-c-{}": "Adaptive RX: on  TX: n/a\nrx-usecs:\t8\nrx-frames:\t128\ntx-usecs:\tn/a\n",
    "ethtool-a-{}": "Autonegotiate:\toff\nRX:\ton\nTX:\toff\n",
    "ethtool-k-{}": "rx-checksumming: on\nhw-tc-offload: off\n",
    "dcb-ets-{}": "willing off ets-cap 8 cbs off\ntc-tsa 0:strict 1:ets\ntc-bw 0:0 1:100\nprio-tc 0:0 1:1\n",
    "dcb-pfc-{}": "prio-pfc 0:off 3:on\n",
    "dcb-app-{}": "dscp-prio 26:3\n",
}


def vpd(serial: str) -> bytes:
    """Return a card's sysfs file with this serial number."""
    return nic_vpd(serial).encode("utf-8", "surrogateescape")


class Server:
    """Two cards with two ports each, of which the first is free; ``root`` has its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "state"
        for directory in ("state", "units", "run", "bin", "outside", "dev", "var/lib/juju", "sys/class/net"):
            (root / directory).mkdir(parents=True)
        for name in REAL:
            (root / "bin" / name).symlink_to(shutil.which(name) or "/nonexistent")
        self.script("bin/tools", TOOLS)
        self.script("outside/ssh", SSH)
        self.script("outside/remote", REMOTE)
        for name in NAMES:
            (root / "bin" / name).symlink_to("tools")
        for ports, serial in ((PORTS, SERIAL), (OTHER, "MT2116X05678")):
            for number, (bdf, name) in enumerate(ports.items()):
                self.port(bdf, name, number, serial)
        self.set("uid", "0\n")
        self.set("client", "192.0.2.9 50000 192.0.2.1 22")
        self.set("routes", json.dumps([{"dst": "default", "gateway": "192.0.2.254", "dev": "eno1"}]))
        local = [{"dst": "fe80::/64", "dev": name} for name in PORTS.values()]
        self.set(
            "routes6", json.dumps([*local, {"type": "multicast", "dst": "ff00::/8", "dev": "enp59s0f0np0"}])
        )
        self.set("back", json.dumps([{"dst": "192.0.2.9", "dev": "eno1"}]))

    def script(self, path: str, text: str) -> None:
        (self.root / path).write_text(text.replace("$ROOT", str(self.root)))
        (self.root / path).chmod(0o755)

    def port(self, bdf: str, name: str, number: int, serial: str) -> None:
        pci = self.root / "sys/bus/pci"
        netdev = pci / "devices" / bdf / "net" / name
        netdev.mkdir(parents=True)
        files = {
            "sriov_numvfs": "0",
            "sriov_totalvfs": "8",
            "sriov_drivers_autoprobe": "1",
            "vendor": "0x15b3",
        }
        for file, text in {**files, "device": "0x101d"}.items():
            (pci / "devices" / bdf / file).write_text(f"{text}\n")
        (pci / "devices" / bdf / "vpd").write_bytes(vpd(serial))
        for file, text in {"phys_port_name": f"p{number}", "flags": "0x1003", "carrier": "1"}.items():
            (netdev / file).write_text(f"{text}\n")
        (pci / "drivers/mlx5_core").mkdir(parents=True, exist_ok=True)
        (pci / "drivers/mlx5_core" / bdf).symlink_to(pci / "devices" / bdf)
        (self.root / "sys/class/net" / name).symlink_to(netdev)
        self.set(f"eswitch-{bdf}", f"pci/{bdf}: mode legacy inline-mode none encap-mode basic\n")
        for file, text in MINE.items():
            self.set(file.format(name), text)

    def vf(self, driver: str = "mlx5_core", netdev: str = "enp59s0f0v0", flags: str = "0x1002") -> Path:
        """A VF of the first port; returns its directory."""
        pci = self.root / "sys/bus/pci"
        function = pci / "devices/0000:3b:00.2"
        function.mkdir()
        (function / "physfn").symlink_to(pci / "devices/0000:3b:00.0")
        (pci / "devices/0000:3b:00.0/virtfn0").symlink_to(function)
        if driver:
            (pci / "drivers" / driver).mkdir(exist_ok=True)
            (function / "driver").symlink_to(pci / "drivers" / driver)
        if netdev:
            (function / "net" / netdev).mkdir(parents=True)
            (function / "net" / netdev / "flags").write_text(f"{flags}\n")
        return function

    def set(self, name: str, text: str) -> None:
        (self.state / name).write_text(text)

    def below(self, netdev: str, upper: str, bond: bool = False) -> None:
        """Put a netdev below another one."""
        directory = self.root / "sys/class/net" / upper
        (directory / "bonding" if bond else directory).mkdir(parents=True, exist_ok=True)
        (self.root / "sys/class/net" / netdev / f"upper_{upper}").symlink_to(directory)

    def timer_fires(self) -> None:
        """Do as systemd does when nobody wound the timer up."""
        timer = self.root / "units/ovn-offload-calibrate.timer"
        (self.root / "unreachable").unlink(missing_ok=True)
        bash = [shutil.which("bash") or "bash", timer.read_text().strip()]
        timer.unlink()
        subprocess.run(bash, env={"PATH": str(self.root / "bin")}, check=True)

    @property
    def trace(self) -> list[str]:
        """Every write, in order."""
        file = self.root / "trace"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def left(self) -> list[str]:
        """The files in /run, where a calibration has its folder."""
        return [path.name for path in (self.root / "run").iterdir()]
