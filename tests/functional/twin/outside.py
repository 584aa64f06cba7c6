# SPDX-License-Identifier: Apache-2.0
"""Runs where the twin runs: FRR of a router outside, in its namespace, until it is told to end."""

import signal
import sys

from lab.twin.commands import run
from lab.twin.frr import Frr

if __name__ == "__main__":
    name, configuration = sys.argv[1:]
    router = Frr(name)
    router.start()
    run(["vtysh", "-N", name, "-f", configuration])
    signal.pause()
