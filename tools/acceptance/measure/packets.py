# SPDX-License-Identifier: Apache-2.0
"""Small frames from one server to another: by the kernel's generator, by TRex, and by DPDK's testpmd.

Sources: the RDG's testpmd and TRex; the kernel's Documentation/networking/pktgen.rst; DPDK 21.11's guides of
testpmd and of dpdk-devbind.py.
"""

from acceptance.measure.script import AWAY, FIRST_PORT, GRACE, Run
from acceptance.measure.shells import netdev_of

QUEUES = 4
"""The RDG's queues, and the processors that forward; a virtio port may have fewer."""
DRIVER = "uio_pci_generic"
"""The kernel's driver that gives a virtio port to a program; vfio-pci wants an IOMMU, which no server has."""
PORT = """\
netdev={netdev}
[ -n "$netdev" ] || {{
    echo "no interface has {address}; servers from before dpdk was under software lack it: destroy, apply" >&2
    exit 1
}}
device=$(readlink -f /sys/class/net/$netdev/device)
export own=
case $(basename $device) in virtio*) own=virtio-pci device=$(dirname $device) ;; esac
export pci=$(basename $device)
queues=$(ls -d /sys/class/net/$netdev/queues/rx-* | wc -l)
[ $queues -le {queues} ] || queues={queues}
last=$(($(nproc) - 1))
[ $last -le 8 ] || last=8
forwards=$((queues < last ? queues : last))
options="-l 0-$last -n 4 -m 1024 -a $pci -- --burst=64 --txd=1024 --rxd=1024 --mbcache=512"
options="$options --rxq=$queues --txq=$queues --nb-cores=$forwards"
give_back() {{
    [ -z "$own" ] || dpdk-devbind.py --bind=$own $pci
}}
export -f give_back
take() {{
    [ -n "$own" ] || return 0
    trap give_back EXIT
    modprobe {driver}
    dpdk-devbind.py --force --bind={driver} $pci
}}
"""
"""The port with an address, and how testpmd runs on it.

DPDK uses an mlx5 port beside the kernel's driver, and takes a virtio port from it.
"""
RETURNED = """\
for second in $(seq {grace}); do ip -br -4 address | grep -q ' {address}/' && break; sleep 1; done
"""
"""Waits until the kernel has a port with its address again."""


def _port(address: str) -> str:
    return PORT.format(address=address, netdev=netdev_of(address), queues=QUEUES, driver=DRIVER)


def _target(run: Run) -> str:
    """Finds the server's MAC address; a server that answers no more is known from the probe before."""
    return f"""\
ping -c 1 -W 2 {run.server} > /dev/null || true
target=$(ip neigh show {run.server} | grep -o 'lladdr [^ ]*' | cut -d' ' -f2)
"""


def receive(run: Run, *, back: bool = False) -> str:
    """Testpmd in the background on the port with the server's address; its statistics go to a file.

    With `back`, it sends back what it receives, as the RDG's does with what comes from TRex.
    """
    seconds = run.seconds + 3 * GRACE  # longer than TRex, which starts for half a minute
    # testpmd ends when its standard input does, and sshd waits for whatever has the shell's output open.
    begin = f"{AWAY} timeout {seconds} dpdk-testpmd $options > /tmp/testpmd 2>&1 < <({AWAY} sleep {seconds})"
    mode = "5tswap" if back else "rxonly"
    return f"""\
set -e
if pkill -x dpdk-testpmd; then sleep 2; fi # an earlier rung's
{_port(run.server)}take
export options="$options --rss-udp --forward-mode={mode} -a --stats-period 1"
{AWAY} bash -c '{begin}; give_back' > /dev/null 2>&1 &
trap - EXIT
sleep 10
"""


def send(run: Run) -> str:
    """UDP frames of 60 bytes from changing addresses, as fast as testpmd makes them."""
    seconds = run.seconds + 10  # it starts for some seconds
    sent = f"--tx-ip={run.client},{run.server} --tx-udp={FIRST_PORT},{FIRST_PORT} --eth-peer=0,$target"
    return f"""\
set -e
{_port(run.client)}{_target(run)}[ -n "$target" ] || {{
    echo "the MAC address of {run.server} is not known: it has answered no ping" >&2
    exit 1
}}
take
timeout {seconds + GRACE} dpdk-testpmd $options --forward-mode=txonly --txpkts=60 --txonly-multi-flow \\
    {sent} > /tmp/testpmd-sends 2>&1 < <(sleep {seconds}) || {{
    echo "testpmd: $(grep -E 'Cause:|Cannot|[Ff]ailed|Invalid|No ' /tmp/testpmd-sends | tail -n 1)" >&2
    exit 1
}}
give_back
trap - EXIT
{RETURNED.format(address=run.client, grace=GRACE)}"""


def received(run: Run) -> str:
    """End the receiver, and print its statistics."""
    returned = RETURNED.format(address=run.server, grace=GRACE)
    return f"pkill -x dpdk-testpmd || true\n{returned}cat /tmp/testpmd\n"


def trex(run: Run) -> str:
    """The RDG's stream of 60-byte UDP frames over 1001 source ports, 30 Mpps, without TRex's console."""
    return f"""\
set -e
cd /opt/trex
{_target(run)}first={netdev_of(run.client)}
devices=""
for device in /sys/class/net/*/device; do
    [ "$(basename "$(readlink -f "$device/driver")")" = mlx5_core ] || continue
    [ "$(basename "$(dirname "$device")")" = "$first" ] || devices=$(basename "$(readlink "$device")")
done
source=$(cat /sys/class/net/$first/address)
port="{{ dest_mac: '$target', src_mac: '$source' }}"
echo "[{{ port_limit: 2, version: 2, port_info: [$port, $port]," > trex_cfg.yaml
echo "  interfaces: ['$(basename $(readlink /sys/class/net/$first/device))', '$devices'] }}]" >> trex_cfg.yaml
timeout {run.seconds + 2 * GRACE} ./t-rex-64 --cfg trex_cfg.yaml --no-ofed-check -i -c 8 > /tmp/trex 2>&1 &
trap "kill $! 2> /dev/null || true" EXIT
sleep {GRACE - 10}
cd automation/trex_control_plane/interactive
python3 - <<END
from trex.stl.api import *
frame = Ether() / IP(src='{run.client}', dst='{run.server}') / UDP(dport=5999) / (18 * 'x')
steps = [STLVmFlowVar(name='port', min_value=4337, max_value=5337, size=2, op='inc'),
         STLVmWrFlowVar(fv_name='port', pkt_offset='UDP.sport'),
         STLVmFixChecksumHw(l3_offset='IP', l4_offset='UDP', l4_type=CTRexVmInsFixHwCs.L4_TYPE_UDP)]
client = STLClient()
client.connect()
client.reset(ports=[0])
packet = STLPktBuilder(pkt=frame, vm=STLScVmRaw(steps))
client.add_streams(STLStream(packet=packet, mode=STLTXCont()), ports=[0])
client.start(ports=[0], mult='30mpps', duration={run.seconds})
client.wait_on_traffic(ports=[0])
client.disconnect()
END
"""


def counted(run: Run) -> str:
    """The packets that the server's netdev has received so far, for a rate over the duration."""
    netdev = netdev_of(run.server)
    return f"echo {run.seconds} $(cat /sys/class/net/{netdev}/statistics/rx_packets) >> /tmp/pktgen"


def pktgen(run: Run) -> str:
    """The kernel's generator of small UDP frames: a thread on each CPU, from all source ports."""
    return f"""\
set -e
modprobe pktgen || {{
    echo "its kernel has no pktgen: apt-get install linux-modules-extra-$(uname -r)" >&2
    exit 1
}}
{_target(run)}netdev={netdev_of(run.client)}
for cpu in $(seq 0 $(($(nproc) - 1))); do
    echo rem_device_all > /proc/net/pktgen/kpktgend_$cpu
    echo "add_device $netdev@$cpu" > /proc/net/pktgen/kpktgend_$cpu
    for word in "count 0" "delay 0" "pkt_size 60" "dst {run.server}" "dst_mac $target" "flag QUEUE_MAP_CPU" \\
        "flag UDPSRC_RND" "udp_src_min 1024" "udp_src_max 65000" "udp_dst_min {FIRST_PORT}" \\
        "udp_dst_max {FIRST_PORT}"; do
        echo "$word" > /proc/net/pktgen/$netdev@$cpu
    done
done
timeout {run.seconds} bash -c 'echo start > /proc/net/pktgen/pgctrl' || true
for thread in /proc/net/pktgen/kpktgend_*; do echo rem_device_all > $thread; done
echo sent
"""
