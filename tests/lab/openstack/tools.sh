#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the measuring tools print on a machine of machines.py; the name of this file's link is the tool.
# Formats as of iperf3 3.9, sysstat 12.5.2, perftest 4.4 (the RDG's own lines), DPDK 21.11, iproute2 5.15, iputils.

declare -A given # the last value of each option
before=
for word; do
    [[ $before == -* ]] && given[$before]=$word
    given[$word]=${given[$word]:-}
    before=$word
done

case ${0##*/} in
sleep | sudo | pkill | tcpdump) ;;
setsid) exec "$@" ;;
timeout) shift; exec "$@" ;;
taskset) shift 2; exec "$@" ;;
nproc) echo "$CPUS" ;;
cloud-init) exit "$BOOTED" ;;
systemctl) [[ $* == *acceptance-cpu* ]] || echo "$*" >> "$FOLDER/units" ;;
ovs-vsctl) echo "\"$ADDRESS\"" ;;
systemd-run)
    [[ $* == *--unit=acceptance-cpu* ]] || { echo "$*" >> "$FOLDER/units"; exit 0; }
    # what the loop does between two readings, at once
    sed -e '1,/looked=yes/d' -e '/^    }/,$d' <<< "${*: -1}" | /bin/bash > "$FOLDER/looked"
    exit 0 ;;
uname) echo 5.15.0-48-generic ;;
ovs-appctl) printf 'recirc_id(0),ct_state(-trk)\nrecirc_id(1),ct_state(+est+trk)\nrecirc_id(0),in_port(3)\n' ;;
head) # what the sampler of machines.py has written
    [[ $* == *acceptance-cpu ]] || exec /usr/bin/head "$@"
    cat "$FOLDER/series" "$FOLDER/looked" ;;
modprobe) exit "$PKTGEN_MISSING" ;;
ip)
    [ "$1" = neigh ] && echo "$3 dev ens5 lladdr fa:16:3e:00:00:04 STALE"
    [ "$1" = route ] && echo "$*" >> "$FOLDER/routes"
    [ "$2 $3" = "address replace" ] && { grep -q " $4" "$FOLDER/addresses" || echo "$6 UP $4" >> "$FOLDER/addresses"; }
    [ "$1" = -br ] && cat "$FOLDER/addresses"
    exit 0 ;;
virsh) # another tenant's instance is not pinned
    [[ $* == *--uuid* ]] && cat "$FOLDER/uuids" && exit 0
    [ "$2" = list ] && printf 'instance-00000001\ninstance-00000008\ninstance-00000009\n'
    [ "$3" = instance-00000001 ] && PIN=0-47
    [ "$2" = vcpupin ] && printf ' 0      2\n 1      %s\n' "$PIN"
    exit 0 ;;
ethtool)
    if [ "$1" = -S ]; then
        echo "NIC statistics:"; cat "$FOLDER/counters-$2"
    elif [ "$1" != -l ]; then
        echo "$*" >> "$FOLDER/ethtool"
    else
        printf 'Channel parameters for %s:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t%s\n' "$2" "$CPUS"
        printf 'Current hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t%s\n' "$QUEUES"
    fi ;;
ping)
    size=${given[-s]:-56} headers=28
    if [ -s "$FOLDER/silent" ]; then # for as many packets as it has lines
        sed -i 1d "$FOLDER/silent"
        printf -- '--- statistics ---\n1 packets transmitted, 0 received, 100%% packet loss, time 0ms\n'; exit 1
    fi
    [[ $* == *:* ]] && headers=48
    if [ $((size + headers)) -gt "$MTU" ]; then
        echo "ping: local error: message too long, mtu=$MTU"; exit 1
    elif [ $((size + headers)) -gt "$PATH_MTU" ]; then
        printf -- '--- statistics ---\n3 packets transmitted, 0 received, 100%% packet loss, time 2042ms\n'; exit 1
    fi
    printf -- '--- statistics ---\n3 packets transmitted, 3 received, 0%% packet loss, time 403ms\n' ;;
mpstat)
    echo '{"sysstat": {"hosts": [{"nodename": "vm1", "sysname": "Linux", "release": "5.15.0-48-generic", "machine": "x86_64",'
    echo '"number-of-cpus": 20, "date": "11/23/26", "statistics": [{"timestamp": "10:00:01", "cpu-load": ['
    echo '{"cpu": "all", "usr": 1.10, "nice": 0.00, "sys": 12.48, "iowait": 0.00, "irq": 0.00, "soft": 3.00, "steal": 0.00,'
    echo '"guest": 0.00, "gnice": 0.00, "idle": 83.42}]}]}]}}' ;;
iperf3)
    [ -v "given[-s]" ] && exit 0
    target=${given[-c]} seconds=${given[-t]}
    if [ -n "$BLOCKED" ]; then
        echo "{ \"start\": {\"connected\": [], \"version\": \"iperf 3.9\"}, \"intervals\": [], \"end\": {},"
        echo "\"error\": \"error - unable to connect to server: Connection timed out\"}"; exit 1
    fi
    echo "{\"start\": {\"connected\": [{\"socket\": 5, \"remote_host\": \"$target\", \"remote_port\": ${given[-p]}}],"
    echo '"version": "iperf 3.9", "system_info": "Linux vm1 5.15.0-48-generic"},'
    if [ -v "given[-u]" ]; then
        sent=$((PPS * seconds)) lost=$((PPS * seconds * LOST / 100))
        sum="{\"start\": 0, \"end\": $seconds, \"seconds\": $seconds, \"bytes\": $((sent * 18)), \"jitter_ms\": 0.002,"
        sum+="\"bits_per_second\": $((PPS * 144)), \"lost_packets\": $lost, \"packets\": $sent, \"lost_percent\": $LOST}"
        echo "\"intervals\": [], \"end\": {\"streams\": [], \"sum\": $sum}}"
        exit 0
    fi
    echo '"intervals": ['
    if [ "${given[-i]}" = 0.1 ]; then
        for tenth in $(seq 0 $((seconds * 10 - 1))); do
            rate=$BPS; [ "$tenth" -ge 50 ] && [ "$tenth" -lt $((50 + OUTAGE)) ] && rate=0
            [ "$tenth" -gt 0 ] && echo ,
            begin=$((tenth / 10)).$((tenth % 10))
            echo "{\"streams\": [], \"sum\": {\"start\": $begin, \"seconds\": 0.1, \"bits_per_second\": $rate, \"omitted\": false}}"
        done
    fi
    sum="\"start\": 0, \"end\": $seconds, \"seconds\": $seconds, \"bytes\": $((BPS * seconds / 8)), \"bits_per_second\": $BPS"
    echo "], \"end\": {\"streams\": [], \"sum_sent\": {$sum, \"retransmits\": 3, \"sender\": true},"
    echo "\"sum_received\": {$sum, \"sender\": true}, \"sender_tcp_congestion\": \"cubic\"}}" ;;
ib_write_bw | ib_write_lat)
    target=${*: -1}
    [[ $target == *.*.*.* ]] || exit 0
    echo '---------------------------------------------------------------------------------------'
    [ -n "$BLOCKED" ] && { echo 'Unexpected CM event bl blka 8'; exit 1; }
    echo '                    RDMA_Write Test'
    echo ' Dual-port       : OFF          Device         : rocep0s5'
    echo ' remote address: LID 0000 QPN 0x0b57 PSN 0x58f526'
    echo ' GID: 00:00:00:00:00:00:00:00:00:00:255:255:33:33:33:84'
    echo '---------------------------------------------------------------------------------------'
    if [ "${0##*/}" = ib_write_bw ]; then
        echo ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]'
        echo " 65536      10941107         0.00               $RDMA              0.364705"
    else
        echo ' #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]'
        echo ' 2       1000          3.50           12.40        3.61               4.58           1.28            8.72                   12.40'
    fi
    echo '---------------------------------------------------------------------------------------' ;;
dpdk-devbind.py) # which driver has each port that it was given
    [[ $* =~ --bind=([a-z_-]+)\ ([0-9a-f:.]+) ]]
    echo "${BASH_REMATCH[1]}" > "$FOLDER/driver-${BASH_REMATCH[2]}" ;;
dpdk-testpmd)
    [[ $* =~ -a\ ([0-9a-f:.]+) ]] && pci=${BASH_REMATCH[1]}
    rates="0 28110220 30030112"
    if compgen -G "$FOLDER/sys/devices/$pci/virtio*" > /dev/null; then
        rates="0 1093120 1210400"
        [ "$(cat "$FOLDER/driver-$pci" 2> /dev/null)" = uio_pci_generic ] || { echo "testpmd: No probed ethernet devices"; exit 0; }
    fi
    for rate in $rates; do
        echo '  ######################## NIC statistics for port 0  ########################'
        echo '  RX-packets: 1801806720 RX-missed: 0          RX-bytes:  108108403200'
        echo "  Throughput (since last show)"
        echo "  Rx-pps:     $rate          Rx-bps:  14414453760"
        echo "  Tx-pps:     $rate          Tx-bps:  14414453760"
    done ;;
python3) cat > "$FOLDER/trex.py" ;;
nvidia-smi) cat "$FOLDER/smi" ;;
t-rex-64) ;;
esac
