# SPDX-License-Identifier: Apache-2.0
"""A root shell on a guest, over its virtual console."""

import os
import select
import sys
import termios
import tty

from lab.guest import Guest

ESCAPE = b"\x1d"  # Ctrl-]


def interact(guest: Guest) -> None:
    """Join this terminal to the guest's console until Ctrl-] or the guest's end."""
    console = guest.shell_socket
    if console is None or not sys.stdin.isatty():
        return
    print("Root shell on the node; Ctrl-] leaves.")
    guest.run("systemctl start lab-shell.service")
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        console.setblocking(True)
        while True:
            ready, _, _ = select.select([terminal, console], [], [])
            if console in ready:
                if not (data := console.recv(4096)):
                    return
                os.write(sys.stdout.fileno(), data)
            if terminal in ready:
                typed = os.read(terminal, 4096)
                if ESCAPE in typed:
                    return
                console.sendall(typed)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        print()
