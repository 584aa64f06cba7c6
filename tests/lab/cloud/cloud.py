# SPDX-License-Identifier: Apache-2.0
"""The control plane from outside: start it, connect to it, end it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from lab import host, store
from lab.cable import Nic
from lab.cloud import openstacks, root, translate
from lab.cloud.addresses import CONTROLLER
from lab.cloud.inside import ADMIN, READY
from lab.image import locked
from lab.progress import Step

TESTS = Path(__file__).parents[2]
BUNDLE = TESTS.parent / "bundles/ovn-offload-jammy-caracal.yaml"
"""The bundles of all releases set the same options of the OpenStack charms."""


class Cloud:
    """A control plane, from ``with`` to its end; then nothing of it is left on the host.

    Its release is the first of LAB_RELEASES; see :func:`lab.cloud.openstacks.taken`.

    Args:
        nic: its end of a cable to a rack.
        ovn: address of OVN's databases; without it, the control plane has its own.
        options: of the OpenStack charms, by charm; without them, those of :data:`BUNDLE`.

    """

    def __init__(
        self,
        nic: Nic | None = None,
        ovn: str = CONTROLLER,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._nic, self._ovn, self.options = nic, ovn, options or translate.bundle(BUNDLE)
        self._release, self.openstack = openstacks.taken()
        self._process: subprocess.Popen[str] | None = None

    def prepare(self) -> None:
        """Build the root and the databases now, with progress shown, unless the cache has them.

        Raises:
            HostError: the user may not create namespaces, or a build step failed.

        """
        root.require()
        base = root.root()
        state = root.state(base)
        with locked(store.folder() / f"cloud-state-{self._release.suite}.lock"):
            if not state.exists():
                self._initialize(base, state)

    def _initialize(self, base: Path, state: Path) -> None:
        root.forget_states(state)
        partial = state.with_suffix(".partial")
        with Step(f"OpenStack {self.openstack.title}: creating the databases") as step:
            process = _start(self._given(base, partial, initialize=True))
            _follow(process, step)
            _end(process)
        partial.rename(state)

    def __enter__(self) -> "Cloud":
        self.prepare()
        base = root.root()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.proxy = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        given = self._given(base, root.state(base), initialize=False)
        handed = [self._listening]
        if self._nic:
            end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind(("127.0.0.1", self._nic.here))
            handed.append(end)
            given["cable"] = {"fd": end.fileno(), "there": self._nic.there}
        given["proxy"] = self._listening.fileno()
        try:
            with Step(f"OpenStack {self.openstack.title}: starting the control plane") as step:
                self._process = _start(given, handed)
                _follow(self._process, step)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        finally:
            for end in handed:
                end.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            _end(self._process)

    def _given(self, base: Path, state: Path, *, initialize: bool) -> dict[str, Any]:
        """Return the input of :mod:`lab.cloud.inside`."""
        ovn = CONTROLLER if initialize else self._ovn
        told = {"root": str(base), "state": str(state), "ovn": ovn, "options": self.options}
        return {**told, "suite": self._release.suite, "initialize": initialize}

    def connect(self, **login: Any) -> Any:
        """A connection of openstacksdk's: as the administrator, unless it gets another login."""
        # openstacksdk is not in every environment that imports the lab.
        import openstack
        from acceptance.asking import asking

        with asking("the lab's cloud"):
            connection = openstack.connect(**(login or ADMIN))
            connection.session.session.proxies = {"http": self.proxy}
            connection.session.session.trust_env = False
            connection.session.get_token()
        return connection


def _start(given: dict[str, Any], handed: list[socket.socket] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*root.NAMESPACES, sys.executable, "-m", "lab.cloud.inside", json.dumps(given)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        pass_fds=[end.fileno() for end in handed or []], env={**os.environ, "PYTHONPATH": str(TESTS)},
        start_new_session=True,
    )  # fmt: skip


def _follow(process: "subprocess.Popen[str]", step: Step) -> None:
    """Wait until it is ready; inside, a service without progress ends it with a reason."""
    said: list[str] = []
    for line in process.stdout or ():
        if line.strip() == READY:
            step.note("")
            return
        step.note(line.strip()[:60])
        said.append(line)
    _end(process)
    raise host.HostError(f"The OpenStack control plane did not start: {''.join(said[-60:])}")


def _end(process: "subprocess.Popen[str]") -> None:
    """Process 1 ends with its standard input, and everything else with it."""
    if process.stdin and not process.stdin.closed:
        process.stdin.close()
    process.wait()
    if process.stdout:
        process.stdout.close()
