# SPDX-License-Identifier: Apache-2.0
"""A real SSH server on an address of this machine; what a session is answered is for its subclasses."""

import contextlib
import socket
import threading

import paramiko


class Accepts(paramiko.ServerInterface):
    """The requests that a client may make: a password's login, a terminal, and a shell or one command.

    Attributes:
        user: who has logged in.
        terminal: whether the session has one.
        command: what it runs; None for a shell.

    """

    def __init__(self, server: "SshServer"):
        self.server = server
        self.user, self.terminal, self.command = "", False, None
        self.begun = threading.Event()

    def check_auth_password(self, username, password):
        self.user = username
        right = self.server.right(username, password)
        return paramiko.AUTH_SUCCESSFUL if right else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username):
        return "publickey,password"

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_UNKNOWN_CHANNEL_TYPE

    def check_channel_pty_request(self, *_):
        self.terminal = True
        return True

    def check_channel_shell_request(self, channel):
        self.begun.set()
        return True

    def check_channel_exec_request(self, channel, command):
        if not self.server.runs_commands:
            return False
        self.command = command.decode()
        self.begun.set()
        return True


class SshServer:
    """Listens until it is left; a context manager."""

    runs_commands = False
    """Whether a session may run one command instead of a shell."""

    def __init__(self, address="127.0.0.1", port=0):
        self.key = paramiko.ECDSAKey.generate()
        self._listener = socket.create_server((address, port))
        self.address = address
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._transports = []
        self._threads[0].start()

    def right(self, user, password) -> bool:
        """Whether the password is the user's."""
        raise NotImplementedError

    def talk(self, channel, accepts: Accepts):
        """Answer one session."""
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):  # it was left before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for transport in self._transports:
            transport.close()
        for thread in self._threads:
            thread.join(1)

    @property
    def known_host(self) -> str:
        """The line of a known_hosts file that has this switch's key."""
        return f"[{self.address}]:{self.port} {self.key.get_name()} {self.key.get_base64()}\n"

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(client)
            self._transports.append(transport)
            transport.add_server_key(self.key)
            accepts = Accepts(self)
            try:
                transport.start_server(server=accepts)
            except (paramiko.SSHException, EOFError, OSError):  # the other end hung up
                continue
            thread = threading.Thread(target=self._session, args=(transport, accepts), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _session(self, transport, accepts):
        channel = None
        while channel is None and transport.is_active():
            channel = transport.accept(0.1)
        if channel is None or not accepts.begun.wait(60):
            return
        with contextlib.suppress(OSError, EOFError):  # the other end hangs up
            self.talk(channel, accepts)
