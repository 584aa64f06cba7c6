# SPDX-License-Identifier: Apache-2.0
"""The way into a simulated switch by SSH, as its factory's image lets people in.

What is said was taken from OpenSSH 9.2, pam_unix and passwd of Debian 12, which Cumulus Linux has from 5.11
on, with a password that has expired (``chage -d 0``); NVIDIA's guide shows the same dialogue.
"""

from lab.nvue.rest import FACTORY_PASSWORD, Rest
from lab.sshserver import Accepts, SshServer

SHORT = 6
"""Characters that pam_unix wants at least."""

REQUIRED = "You are required to change your password immediately (administrator enforced).\n"
EXPIRED = "WARNING: Your password has expired.\n"
AGAIN = "You must change your password now and login again!\n"
NO_TTY = "Password change required but no TTY available.\n"
MOTD = "Linux cumulus 6.1.0-cl-1-amd64 x86_64\n\nWelcome to NVIDIA Cumulus (R) Linux (R)\n"


class Login(SshServer):
    """sshd of a switch, whose password is that of its REST interface.

    Attributes:
        expired: whether the password has to be changed before anything else.
        logins: who tried to come in, and whether it was with the right password.
        dictionary: passwords that it calls bad, as pam_pwquality does.
        deaf: whether it stops answering within the dialogue.

    """

    runs_commands = True

    def __init__(self, rest: Rest, **given):
        self.rest = rest
        self.expired = rest.password == FACTORY_PASSWORD
        self.logins: list[tuple[str, bool]] = []
        self.dictionary: tuple[str, ...] = ()
        self.deaf = False
        super().__init__(**given)

    def right(self, user, password):
        right = (user, password) == (self.rest.user, self.rest.password)
        self.logins.append((user, right))
        return right

    def talk(self, channel, accepts: Accepts):
        if self.deaf:
            channel.recv(1)  # nothing comes before the client goes
            return
        if self.expired and not accepts.terminal:
            channel.sendall_stderr((EXPIRED + NO_TTY).encode())
            status = 1
        elif self.expired:
            _say(channel, REQUIRED + MOTD + EXPIRED + AGAIN)
            status = self._passwd(channel)
        else:
            status = {"true": lambda _: 0, "passwd": self._passwd}[accepts.command](channel)
        channel.send_exit_status(status)
        channel.close()

    def _passwd(self, channel) -> int:
        """passwd, with pam_unix's three tries."""
        _say(channel, f"Changing password for {self.rest.user}.\n")
        if _asked(channel, "Current password: ") != self.rest.password:
            return _unchanged(channel)
        for _ in range(3):
            new = _asked(channel, "New password: ")
            if new in self.dictionary:
                _say(channel, "BAD PASSWORD: The password fails the dictionary check\n")
                continue
            if _asked(channel, "Retype new password: ") != new:
                _say(channel, "Sorry, passwords do not match.\n")
                return _unchanged(channel)
            if new == self.rest.password:
                _say(channel, "The password has not been changed.\n")
            elif len(new) < SHORT:
                _say(channel, "You must choose a longer password.\n")
            else:
                self.rest.password, self.expired = new, False
                _say(channel, "passwd: password updated successfully\n")
                return 0
        return _unchanged(channel)


def _unchanged(channel) -> int:
    _say(channel, "passwd: Authentication token manipulation error\npasswd: password unchanged\n")
    return 10


def _say(channel, text: str) -> None:
    channel.sendall(text.replace("\n", "\r\n").encode())


def _asked(channel, question: str) -> str:
    """Return the text that is typed after a question, which the terminal does not show."""
    _say(channel, question)
    typed = ""
    while not typed.endswith("\n"):
        data = channel.recv(1)
        if not data:
            raise EOFError
        typed += data.decode().replace("\r", "\n")
    _say(channel, "\n")
    return typed[:-1]
