# SPDX-License-Identifier: Apache-2.0
"""An apply and a verify of one switch against those of 48, each switch 200 ms away: time and processor time.

The switches are simulated (tests/lab/nvue), in processes of their own, and come as from the factory. Both
applies have one wave, so that the ratio shows what the other 47 switches cost. Processor time is that of the
charm's side alone. ``python tests/bench/switches.py`` prints it; it needs no virtual machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPINES, LEAVES, HOSTS = 16, 32, 64
LATENCY = 0.2
PROCESSES = 4

SERVE = """
import sys
from contextlib import ExitStack
from pathlib import Path
from lab.nvue import Certificate, Server, Switch
directory, latency, names = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
certificate = Certificate(directory / "cumulus.pem", directory / "cumulus.key")
with ExitStack() as stack:
    servers = [stack.enter_context(Server(Switch(name), certificate, latency=latency)) for name in names]
    print(*(server.port for server in servers), flush=True)
    sys.stdin.read()
"""

APPLY = """
import json, sys, time
from pathlib import Path
import online
from intent import expand, schema
from apply import ApplyPolicy, Run
from rest.client import Nvue
from rest.connection import Access, Credentials
from rest.fleet import Fleet
from settling import Verdict
ca, text, *pairs = sys.argv[1:]
fabric = expand.expand(schema.parse(Path(text).read_text()))
access = Access(Credentials("cumulus", "CumulusLinux!"), ca=Path(ca).read_text())
ports = dict(pair.split("=") for pair in pairs)
fleet = Fleet({name: Nvue(name, "127.0.0.1", access, int(port)) for name, port in ports.items()})
site = online.Site(fabric, fleet)
def now():
    return time.monotonic(), time.process_time()
with site:
    times = [now()]
    needed = site.survey(list(ports)).changes
    report = Run(needed, fleet, lambda pending: Verdict, ApplyPolicy(poll=0.2)).go([list(ports)])
    times.append(now())
    assert report.applied and len(needed) == len(ports), report
    survey = site.survey(list(ports), state=True)
    found = site.findings(survey)
    times.append(now())
    # The simulated switches have no links; their configuration is as the intent says.
    assert survey.plan.empty and not [each for each in found if "settings differ" in each.what], found
print(json.dumps([[after - before for before, after in zip(*pair)] for pair in zip(times, times[1:])]))
"""


def environment() -> dict[str, str]:
    """Where the scripts find what they import."""
    path = os.pathsep.join(str(ROOT / part) for part in ("lib", "tests", "charms/cumulus-fabric/src"))
    return {**os.environ, "PYTHONPATH": path}


def serve(directory: Path, names: list[str]) -> tuple[subprocess.Popen[str], dict[str, int]]:
    """A process with these switches, and their ports."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(directory), str(LATENCY), *names],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, dict(zip(names, map(int, process.stdout.readline().split())))


def seconds(directory: Path, intent: Path, names: list[str]) -> list[tuple[float, float]]:
    """How long an apply on these switches takes, and a verify: seconds, and seconds of processor time."""
    started = [serve(directory, names[part::PROCESSES]) for part in range(min(PROCESSES, len(names)))]
    try:
        ports = [f"{name}={port}" for _, found in started for name, port in found.items()]
        done = subprocess.run(
            [sys.executable, "-c", APPLY, str(directory / "cumulus.pem"), str(intent), *ports],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [(took, used) for took, used in json.loads(done.stdout)]
    finally:
        for process, _ in started:
            process.communicate("")


def main() -> None:
    """Print both times and their ratio."""
    import fabric
    from lab.nvue import Certificate

    names = [f"Spine{n}" for n in range(SPINES)]
    names += [f"Leaf{rack}-{leaf}" for rack in range(LEAVES // 2) for leaf in (1, 2)]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        Certificate.make(directory)
        intent = directory / "intent.yaml"
        intent.write_text(fabric.intent(SPINES, LEAVES, HOSTS))
        one = seconds(directory, intent, names[-1:])
        every = seconds(directory, intent, names)
    print(f"switches {LATENCY * 1000:.0f} ms away             one       {len(names)}  ratio")
    for verb, alone, together in zip(("apply", "verify"), one, every):
        for what, few, many in zip(("", ", processor time"), alone, together):
            print(f"{verb + what:24} {few:8.2f} s {many:7.2f} s  {many / few:5.1f}", flush=True)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]
    main()
