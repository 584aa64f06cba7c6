# SPDX-License-Identifier: Apache-2.0
"""Time an idle hook of a charm against the same hook of a charm that does nothing. Runs in the guest.

Both run as Juju runs them: a new Python process per hook, hook tools as programs on PATH. The charms' byte
code is cached, as after the first hook. Prints one JSON object.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROUNDS = 5
WORK = Path("/var/lib/bench")
PACKAGES = "/opt/site-packages"

EMPTY = """
import ops

class EmptyCharm(ops.CharmBase):
    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        framework.observe(self.on.update_status, self._on_update_status)

    def _on_update_status(self, event: ops.EventBase):
        self.unit.status = ops.ActiveStatus()

if __name__ == "__main__":
    ops.main(EmptyCharm)
"""

HOOK_TOOL = """#!/bin/sh
case "$*" in *--app*) bag=app ;; *) bag=unit ;; esac
bag="$JUJU_CHARM_DIR/$bag-databag.json"
case "${0##*/} $1" in
"config-get "*) cat "$JUJU_CHARM_DIR/options.json" ;;
"relation-ids reboot") echo '["reboot:0"]' ;;
relation-ids* | relation-list*) echo '[]' ;;
relation-get*) cat "$bag" 2>/dev/null || echo '{}' ;;
relation-set*) cat >"$bag" ;;
is-leader*) echo true ;;
juju-log*) echo "$*" >>/var/lib/bench/juju-log ;;
status-get*) echo '{"status": "active", "message": ""}' ;;
esac
"""
"""Juju's answers to the one unit of an application: it leads, and has a peer relation."""

HOOK_TOOLS = (
    "application-version-set config-get goal-state is-leader juju-log "
    "relation-get relation-ids relation-list relation-set status-get status-set"
)

COUNTER = """
import os, sys

def _count(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.system", "os.exec"):
        with open(os.environ["BENCH_PROCESSES"], "a") as log:
            log.write(f"{os.path.basename(str(arguments[0] if arguments else event))}\\n")

sys.addaudithook(_count)
"""


def unpack(source: Path, config: dict[str, object]) -> Path:
    """The charm as it is packed: charmcraft.yaml apart in the files that ops reads, and its options."""
    content = yaml.safe_load((source / "charmcraft.yaml").read_text())
    charm = WORK / content["name"]
    shutil.copytree(source, charm)
    for key in ("config", "actions"):
        (charm / f"{key}.yaml").write_text(yaml.safe_dump(content.pop(key, {})))
    (charm / "metadata.yaml").write_text(yaml.safe_dump(content))
    options = yaml.safe_load((charm / "config.yaml").read_text())["options"]
    values = {name: option["default"] for name, option in options.items() if "default" in option}
    (charm / "options.json").write_text(json.dumps(values | config))
    return charm


def prepare() -> tuple[Path, dict[str, str]]:
    """An empty charm, and the environment of a hook."""
    shutil.rmtree(WORK, ignore_errors=True)
    empty, tools, counter = WORK / "empty", WORK / "tools", WORK / "counter"
    for directory in (empty / "src", tools, counter):
        directory.mkdir(parents=True)
    (empty / "metadata.yaml").write_text("name: empty\n")
    (empty / "options.json").write_text("{}")
    (empty / "src/charm.py").write_text(EMPTY)
    (counter / "sitecustomize.py").write_text(COUNTER)
    for tool in HOOK_TOOLS.split():
        (tools / tool).write_text(HOOK_TOOL)
        (tools / tool).chmod(0o755)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "JUJU_VERSION": "3.6.9",
        "JUJU_DISPATCH_PATH": "hooks/update-status",
        "JUJU_MODEL_NAME": "bench",
        "JUJU_MODEL_UUID": "6f3a4519-89ba-4c58-876c-b08a8f8ed7b5",
    }
    return empty, environment


def hook(charm: Path, environment: dict[str, str], python_path: str = "") -> float:
    """Seconds that one hook of a charm takes."""
    given = {
        **environment,
        "JUJU_CHARM_DIR": str(charm),
        "JUJU_UNIT_NAME": f"{charm.name}/0",
        "PYTHONPATH": f"{python_path}{charm}/lib:{charm}/src:{PACKAGES}",
    }
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(charm / "src/charm.py")],
        cwd=charm,
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{charm}: {done.stderr[-2000:]}{(WORK / 'juju-log').read_text()[-2000:]}")
    return time.monotonic() - began


def processes(charm: Path, environment: dict[str, str]) -> list[str]:
    """List the processes of a hook besides hook tools, by the interpreter's own audit events."""
    log = WORK / f"{charm.name}.processes"
    log.write_text("")
    hook(charm, {**environment, "BENCH_PROCESSES": str(log)}, python_path=f"{WORK}/counter:")
    return [name for name in log.read_text().split() if name not in HOOK_TOOLS.split()]


def writes(charm: Path, environment: dict[str, str]) -> list[str]:
    """List a hook's writes to the machine; the trace has the processes too, which are counted apart."""
    trace = WORK / "writes"
    trace.touch()
    hook(charm, {**environment, "OVN_OFFLOAD_TRACE": str(trace)})
    return [line for line in trace.read_text().splitlines() if json.loads(line)["verb"] != "run"]


def main(source: Path, config: dict[str, object]) -> None:
    """Alternate both charms' hooks, so that whatever else the machine does slows both."""
    empty, environment = prepare()
    charm = unpack(source, config)
    hook(empty, environment)
    hook(charm, environment)  # publishes what a unit publishes once
    if written := writes(charm, environment):
        raise SystemExit(f"the hook is not idle, it wrote {written}")
    times = [(hook(empty, environment), hook(charm, environment)) for _ in range(ROUNDS)]
    print(
        json.dumps(
            {
                "empty": statistics.median(pair[0] for pair in times),
                "charm": statistics.median(pair[1] for pair in times),
                "ratio": statistics.median(pair[1] / pair[0] for pair in times),
                "processes": processes(charm, environment),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
