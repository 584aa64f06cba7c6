# SPDX-License-Identifier: Apache-2.0
"""A timer on the host that puts its card back when nobody holds it off any more.

The script that it runs is in a folder of /run, which is the only thing that is left on the host meanwhile. A
command runs only if the timer could be wound up again before it; so the card is put back also if the
connection, or this machine, is lost. systemd runs the script in any case, never the connection.
"""

import difflib
from types import TracebackType

from lab.calibrate.guards import UNIT
from lab.calibrate.sequence import FUNCTIONS, RESET
from lab.calibrate.shell import LONGEST, Card, CardError, Shell
from lab.guest import Completed

LIMIT = 900
"""Seconds after the last command began; longer than any of them may take."""
FIRED = 97
"""The exit status of a command that did not run because the timer had gone off."""

SAVE = """
for port in 0 1; do
    pf=PF$port net=NET$port; pf=${!pf} net=${!net}
    steering=$(devlink dev param show pci/$pf name flow_steering_mode 2>/dev/null |
        sed -n 's/.*cmode runtime value \\([a-z]*\\).*/\\1/p')
    [ -z "$steering" ] ||
        echo "devlink dev param set pci/$pf name flow_steering_mode value $steering cmode runtime"
    eswitch=$(devlink dev eswitch show pci/$pf 2>/dev/null)
    case $eswitch in *"encap-mode none"*) echo "devlink dev eswitch set pci/$pf encap-mode none" ;; esac
    case $eswitch in *"mode switchdev"*) echo "devlink dev eswitch set pci/$pf mode switchdev" ;; esac
    echo "echo $(cat $(pci $pf)/sriov_drivers_autoprobe) >$(pci $pf)/sriov_drivers_autoprobe"
    ethtool -l $net 2>/dev/null | awk -v net=$net '
        /^Combined:/ {n = $2} END {if (n + 0) print "ethtool -L", net, "combined", n}'
    ethtool -g $net 2>/dev/null | awk -v net=$net '
        /^RX:/ {rx = $2} /^TX:/ {tx = $2}
        END {if (rx + 0 && tx + 0) print "ethtool -G", net, "rx", rx, "tx", tx}'
    ethtool -c $net 2>/dev/null | awk -v net=$net '
        /^Adaptive RX:/ && $3 != "n/a" {all = all " adaptive-rx " $3}
        /^Adaptive RX:/ && $5 != "n/a" {all = all " adaptive-tx " $5}
        /^(rx|tx)-(usecs|frames):/ {if ($2 != "n/a") {sub(":", "", $1); all = all " " $1 " " $2}}
        END {if (all) print "ethtool -C " net all}'
    dcb ets show dev $net 2>/dev/null | awk -v net=$net '
        /^(tc-tsa|tc-bw|prio-tc) / {all = all " " $0} END {if (all) print "dcb ets set dev " net all}'
    echo "ethtool -A $net rx off tx off"
    dcb pfc show dev $net prio-pfc 2>/dev/null |
        awk -v net=$net '/^prio-pfc / {print "dcb pfc set dev " net " " $0}'
    ethtool -a $net 2>/dev/null | awk -v net=$net '
        /^RX:/ {rx = $2} /^TX:/ {tx = $2} END {if (rx) print "ethtool -A", net, "rx", rx, "tx", tx}'
    echo "dcb app flush dev $net"
    dcb -N app show dev $net 2>/dev/null | awk -v net=$net 'NF > 1 {print "dcb app add dev " net " " $0}'
    ethtool -k $net | awk -v net=$net '/^hw-tc-offload:/ {print "ethtool -K", net, "hw-tc-offload", $2}'
    if [ $(($(cat /sys/class/net/$net/flags) & 1)) = 1 ]; then echo "ip link set $net up"; fi
done
multiport="pci/$PF0 name esw_multiport"
case $(devlink dev param show $multiport 2>/dev/null) in
    *"value true"*) echo "devlink dev param set $multiport value true cmode runtime" ;;
esac
"""
"""Prints the commands that lead from :data:`lab.calibrate.sequence.RESET` to the present state.

A card without VFs, bond and rules, as :mod:`lab.calibrate.guards` asks, has no other that a sequence changes.
"""

RUN = f"systemd-run --quiet --collect --unit={UNIT}"
SCRIPT = f"--property=Type=oneshot --property=TimeoutStartSec={LONGEST * 3:.0f} /bin/bash"
ARM = f"""
set -o pipefail
umask 077
folder=$(mktemp -d /run/{UNIT}.XXXXXXXX) || exit
{{
    echo "exec 9<$folder/restore && flock 9"  # a command whose connection was lost may still run
    declare -p PF0 PF1 NET0 NET1
    cat <<'END'
{FUNCTIONS}
{RESET}
END
    settings
    echo "rm -r $folder"
}} >$folder/restore || exit
{RUN} --on-active=$LIMIT --timer-property=AccuracySec=1s --timer-property=StartLimitIntervalSec=0 \\
    {SCRIPT} $folder/restore || {{ status=$?; rm -r $folder; exit $status; }}
settings
"""
"""Sets the timer. Each command starts it anew; by default systemd drops one that starts six times in 10 s."""
WIND = f"""
{{ exec 9</run/{UNIT}.*/restore && flock 9 && systemctl restart {UNIT}.timer; }} 2>/dev/null || exit {FIRED}
"""
RESTORE = f"""
if systemctl -q is-active {UNIT}.timer; then
    systemctl start {UNIT}.service || exit
    systemctl stop {UNIT}.timer
fi
while [ "$(systemctl show -P ActiveState {UNIT}.service)" = activating ]; do sleep 1; done
for script in /run/{UNIT}.*/restore; do
    [ ! -e $script ] || {RUN} --wait {SCRIPT} $script || exit
done
"""
"""Puts the card back, also if the timer was lost: a script that is still there has not come to its end."""


class Held:
    """A card whose host puts it back by itself; made and ended with ``with``, which gives the card to use.

    Args:
        card: as the guards want it.
        limit: seconds after the last command began, until the host puts the card back by itself.

    Raises:
        CardError: the timer could not be set (nothing was changed then), or the card is not as it was.

    """

    def __init__(self, card: Card, limit: int = LIMIT) -> None:
        self._card = card
        self._limit = limit
        self._before: list[str] = []

    def __enter__(self) -> Card:
        done = self._card.run(f"LIMIT={self._limit}\nsettings() {{\n{SAVE}\n}}\n{ARM}")
        if done.returncode:
            raise CardError(
                f"no timer could be set on the host, and nothing was changed: {done.stderr.strip()}"
            )
        self._before = done.stdout.splitlines()
        return Card(Winding(self._card.shell), self._card.addresses, self._card.netdevs)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._put_back()
        except CardError as problem:
            first = f"{error}\n" if isinstance(error, CardError) else ""
            raise CardError(f"{first}{problem}") from error

    def _put_back(self) -> None:
        try:
            done = self._card.run(RESTORE, LONGEST * 3)
        except CardError as problem:
            raise CardError(
                f"{problem}; the host puts the card back by itself within {self._limit // 60} minutes"
            ) from problem
        if done.returncode:
            raise CardError(
                f"the card was not put back; see journalctl -u {UNIT} on the host: {done.stderr.strip()}"
            )
        after = self._card.run(SAVE).stdout.splitlines()
        if after != self._before:
            lines = difflib.unified_diff(self._before, after, "before", "after", lineterm="", n=0)
            raise CardError("\n".join(["the card's settings are not as before:", *lines]))


class Winding:
    """A shell that winds the timer up before each command.

    Args:
        shell: of the host.

    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def run(self, script: str, timeout: float) -> Completed:
        """Run a script, unless the card was put back already.

        Raises:
            CardError: the timer has gone off.

        """
        done = self._shell.run(f"{WIND}{script}", timeout)
        if done.returncode == FIRED:
            raise CardError("the host has put its card back meanwhile: begin again")
        return done
