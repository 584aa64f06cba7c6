# SPDX-License-Identifier: Apache-2.0
"""The text of the units that wake one Juju unit, and of the script that they run.

The script needs nothing but /bin/sh: it has to work when Juju has removed the charm's directory and venv.
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter import facts, install
from hostnic import handover
from hostnic.boot import sandbox, units
from hostnic.boot.sandbox import Does

ATTEMPTS = 20
"""How often juju-exec is tried for one wake-up: the agent may be starting, or restarting for an upgrade."""

PAUSE = 30
"""Seconds between two attempts."""


class Names(NamedTuple):
    """The names of everything that belongs to one Juju unit, ``roce-qos/2``."""

    unit: str  # the Juju unit
    charm: str  # its charm's name

    @property
    def stem(self) -> str:
        """The beginning of the names of all its systemd units."""
        return f"ovn-offload-{self.charm}-dispatch"

    @property
    def service(self) -> str:
        """The service that dispatches the unit."""
        return f"{self.stem}.service"

    @property
    def later(self) -> str:
        """The transient timer that starts the service in some seconds, without its suffix."""
        return f"{self.stem}-later"

    @property
    def guard(self) -> str:
        """The unit that starts the next one when the unit's agent goes."""
        return f"{self.stem}-agent.path"

    @property
    def removal(self) -> str:
        """The service that removes all of this after the unit's agent was removed."""
        return f"{self.stem}-agent.service"

    @property
    def script(self) -> str:
        """The script that the services run."""
        return f"/usr/lib/ovn-offload/{self.charm}-dispatch.sh"

    @property
    def failed(self) -> str:
        """juju-exec's last words, from giving up until the service is started again or the host boots."""
        return f"{handover.DIRECTORY}/{self.charm}.dispatch-failed"

    @property
    def agent(self) -> str:
        """The directory of the unit's agent."""
        return f"{handover.AGENTS}/unit-{self.unit.replace('/', '-')}"


def contents(names: Names, watched: Mapping[str, str] | None) -> dict[str, str]:
    """Path to text of each file, the script first.

    ``watched`` has by charm the path of each file whose change wakes the unit; None for a unit that is not
    woken: only what sees Juju remove it.
    """
    stem, unit = names.stem, names.unit
    run = f"/bin/sh {names.script}"
    # Many changes in a row are no failure; a start limit would stop the .path units for good.
    no_limit = "StartLimitIntervalSec=0"
    rights = sandbox.lines(Does.WAKES_JUJU, Does.STARTS_UNITS, Does.REMOVES_UNITS)
    service = ["Type=oneshot", f"SyslogIdentifier={stem}", *rights]
    files = {
        names.service: {
            "Unit": [f"Description=Dispatch {unit} outside of any hook", no_limit],
            "Service": [*service, f"ExecStart={run} dispatch"],
        },
        names.removal: {
            # The agent rewrites its file now and then; only that it is gone counts.
            "Unit": [
                f"Description=Remove what wakes {unit} after Juju has removed the unit",
                f"ConditionPathExists=!{names.agent}/agent.conf",
                no_limit,
            ],
            "Service": [*service, f"ExecStart={run} removed"],
        },
        names.guard: _watch(f"See Juju remove {unit}", f"{names.agent}/agent.conf", names.removal),
    }
    # At boot, too: Juju may have removed the unit while the machine was down.
    files[names.guard]["Unit"].append(f"Wants={names.removal}")
    if watched is None:
        del files[names.service]
    for charm, path in (watched or {}).items():
        description = f"Dispatch {unit} when {charm} of this machine hands something over"
        files[f"{stem}-{charm}.path"] = _watch(description, path, names.service)
    texts = {units.path(name): _text(sections) for name, sections in files.items()}
    return {names.script: _script(names, list(files)), **texts}


def _watch(description: str, path: str, starts: str) -> dict[str, list[str]]:
    """A ``.path`` unit for one file: systemd 249 loses events of one that watches an absent file, too."""
    return {
        "Unit": [f"Description={description}"],
        "Path": [f"PathChanged={path}", f"Unit={starts}"],
        "Install": ["WantedBy=multi-user.target"],
    }


def _text(sections: Mapping[str, list[str]]) -> str:
    return "\n".join(
        f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections.items()
    )


def _script(names: Names, files: list[str]) -> str:
    watchers = " ".join(name for name in files if name.endswith(".path"))
    variables = {
        "unit": names.unit,
        "charm": names.charm,
        "agent": names.agent,
        "handover": handover.path_of(names.charm),
        "failed": names.failed,
        "facts": facts.path_of(names.charm),
        "copies": facts.COPIES,
        "exporter": install.UNIT,
        "exporter_file": units.path(install.UNIT),
        "script": names.script,
        "later": f"{names.later}.timer",
        "watchers": f"'{watchers}'",
        "files": "'{}'".format(" ".join(units.path(name) for name in files)),
        "attempts": ATTEMPTS,
        "pause": PAUSE,
    }
    return (
        f"# Installed by the charm {names.charm}; local changes are overwritten.\n"
        + "".join(f"{name}={value}\n" for name, value in variables.items())
        + _BODY
    )


_BODY = r"""
dispatch() {
    rm -f "$failed"
    attempt=1
    while [ -d "$agent" ]; do
        said=$(/usr/bin/juju-exec -u "$unit" "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch" 2>&1)
        result=$?
        [ -z "$said" ] || printf '%s\n' "$said"
        [ "$result" -ne 0 ] || exit 0
        if [ "$attempt" -ge "$attempts" ]; then
            echo "juju-exec failed $attempts times, $pause s apart; giving up until the next start"
            (umask 022; mkdir -p "${failed%/*}")
            (umask 077; set -C; rm -f "$failed"; printf '%s\n' "$said" | tail -n 1 >"$failed") # as O_EXCL
            exit 1
        fi
        attempt=$((attempt + 1))
        sleep "$pause"
    done
    remove_all
}

# agent.conf is gone: Juju is deleting the directory that it was in.
removed() {
    waited=0
    while [ -d "$agent" ]; do
        [ "$waited" -lt 60 ] || exit 0
        waited=$((waited + 1))
        sleep 1
    done
    remove_all
}

# Its copy goes; that of another charm takes over, and without one the unit goes, too.
remove_exporter() {
    [ -e "$copies/$charm/exporter.pyz" ] || return 0
    rm -f "$copies/$charm"/exporter.*
    rmdir "$copies/$charm" 2>/dev/null # the boot copy stays
    if ls "$copies"/*/exporter.pyz >/dev/null 2>&1; then
        systemctl try-restart "$exporter"
    else
        systemctl disable --now "$exporter"
        rm -f "$exporter_file"
    fi
}

remove_all() {
    # A newer unit of the charm has its own files in these places, and they stay.
    grep -qsx "unit=$unit" "$script" || exit 0
    echo "Juju has removed $unit without its stop hook: removing its wake-up units, files and exporter"
    if grep -qs "\"unit\": \"$unit\"" "$handover"; then
        rm -f "$handover"
    fi
    rm -f "$failed" "$facts"
    remove_exporter
    systemctl stop $watchers
    systemctl stop "$later" 2>/dev/null # it is there only while the unit waits for it
    systemctl disable --no-reload $watchers
    rm -f $files "$script"
    systemctl daemon-reload
    echo "what $charm installed for the next boot stays; 'Removal' in its README says how to remove it"
    exit 0
}

"$1"
"""
