# SPDX-License-Identifier: Apache-2.0
"""A switch's command line behind a real SSH server, which refuses every command that it does not know.

It models views (what may be typed where), echo, prompts and questions as Onyx and Comware have them, and
keeps what it took. Its vocabulary is that of Demartek's guide and of a login.
"""

import re
from dataclasses import dataclass, field

from lab.sshserver import Accepts, SshServer

WORD = r"[\w./-]+"
NUMBER = r"\d+"


@dataclass(frozen=True)
class Dialect:
    """One platform's command line.

    Attributes:
        start: the view after login.
        prompts: by view; {name} and {at} (what the view is about) are filled in.
        opens: by view, patterns of commands that open another one; a group names what that is about.
        takes: by view, patterns of commands that configure something.
        says: commands that only answer.
        back: commands that leave a view, and where they lead.
        refusal: what an unknown command gets.
        asks: commands that ask [Y/N] first.

    """

    start: str
    prompts: dict[str, str]
    opens: dict[str, list[tuple[str, str]]]
    takes: dict[str, list[str]]
    says: list[str]
    back: dict[str, dict[str, str]]
    refusal: str
    asks: str = "$^"


ONYX = Dialect(
    start="exec",
    prompts={
        "exec": "{name} [standalone: master] > ",
        "enabled": "{name} [standalone: master] # ",
        "config": "{name} [standalone: master] (config) # ",
        "vlan": "{name} [standalone: master] (config vlan {at}) # ",
        "port": "{name} [standalone: master] (config interface ethernet {at}) # ",
    },
    opens={
        "exec": [("enable", "enabled")],
        "enabled": [("config(?:ure)? term(?:inal)?", "config")],
        "config": [(rf"vlan ({NUMBER})", "vlan"), (r"interface ethernet (\d+/\d+)", "port")],
    },
    takes={
        "config": [
            "dcb priority-flow-control enable force",
            r"dcb priority-flow-control priority [0-7] enable",
            r"interface ethernet \d+/\d+ dcb priority-flow-control mode on force",
            rf"pool [ei]Pool[0-7] size {NUMBER} type dynamic",
            rf"config write to {WORD}",
        ],
        "port": [
            "switchport mode trunk",
            rf"switchport trunk allowed-vlan (?:add )?{NUMBER}",
            r"ingress-buffer iPort\.pg[0-7] bind switch-priority [0-7]",
            r"traffic-class [0-7] bind switch-priority [0-7]",
            r"ingress-buffer iPort\.pg[0-7] map pool iPool[0-7] type lossy reserved \d+ shared alpha \w+",
            r"ingress-buffer iPort\.pg[0-7] map pool iPool[0-7] type lossless reserved \d+ xoff \d+ xon \d+"
            r" shared alpha \w+",
            rf"egress-buffer ePort\.tc[0-7] map pool ePool[0-7] reserved {NUMBER} shared alpha \w+",
            r"traffic-class [0-7] congestion-control ecn minimum-absolute \d+ maximum-absolute \d+",
            r"traffic-class [0-7] dcb ets wrr \d+",
        ],
    },
    says=["no cli session paging enable", "terminal .*"],
    back={
        **{"vlan": {"exit": "config"}, "port": {"exit": "config"}, "config": {"exit": "enabled"}},
        **{"enabled": {"exit": "exec"}, "exec": {"exit": "exec"}},
    },
    refusal="% Unrecognized command\r\nType '?' for help.",
)

VLANS = rf"{NUMBER}(?: to {NUMBER})?"
"""One VLAN or a range; a command takes at most ten (HPE 5900, Layer 2 - LAN Switching Command Reference)."""

COMWARE = Dialect(
    start="user",
    prompts={
        "user": "<{name}>",
        "system": "[{name}]",
        "vlan": "[{name}-vlan{at}]",
        "port": "[{name}-{at}]",
        "map": "[{name}-maptbl-{at}]",
        "wred": "[{name}-wred-table-{at}]",
    },
    opens={
        "user": [("system-view", "system")],
        "system": [
            (rf"vlan ({NUMBER})", "vlan"),
            (r"interface ((?:Ten-GigabitEthernet|FortyGigE) \d+/\d+/\d+)", "port"),
            (r"qos map-table (dot1p-lp)", "map"),
            (rf"qos wred queue table ({WORD})", "wred"),
        ],
    },
    takes={
        "port": [
            "port link-type trunk",
            rf"port trunk permit vlan {VLANS}(?: {VLANS}){{0,9}}",
            "priority-flow-control auto",
            "priority-flow-control no-drop dot1p [0-7]",
            "qos trust dot1p",
            "qos wrr [0-7] group 1 byte-count (?:[1-9]|1[0-5])",
            "qos wrr [0-7] group sp",
            rf"qos wred apply {WORD}",
        ],
        "map": ["import [0-7] export [0-7]"],
        "wred": ["queue [0-7] low-limit \\d+ high-limit \\d+", "queue [0-7] ecn"],
        "system": [rf"save {WORD}\.cfg"],
        "user": [rf"save {WORD}\.cfg", rf"startup saved-configuration {WORD}\.cfg", "display startup"],
    },
    says=["screen-length disable"],
    back={
        **{view: {"quit": "system", "return": "user"} for view in ("vlan", "port", "map", "wred")},
        "system": {"quit": "user", "return": "user"},
        "user": {"quit": "user"},
    },
    refusal=" ^\r\n % Unrecognized command found at '^' position.",
    asks=r"save .*",
)


@dataclass
class Shell:
    """The state of one session by all that it has typed so far."""

    dialect: Dialect
    name: str
    view: str = ""
    at: str = ""
    taken: list[tuple[str, str]] = field(default_factory=list)
    """The lines of configuration, each with its subject: ``("1/1", "switchport mode trunk")``."""
    refused: list[str] = field(default_factory=list)
    asked: str = ""
    broken: tuple[str, ...] = ()
    """Commands that it refuses although it knows them."""
    boots: str = "startup.cfg"
    """The file that a switch with Comware boots with; ``save FILE`` does not change it."""

    def __post_init__(self):
        self.view = self.dialect.start

    @property
    def prompt(self) -> str:
        if self.asked:
            return ""
        return self.dialect.prompts[self.view].format(name=self.name, at=self.at.replace(" ", ""))

    def type(self, line: str) -> str:
        """Return the switch's answer, without the prompt."""
        line = line.strip()
        if self.asked:
            return self._confirm(line)
        known, dialect = self.dialect, self.dialect
        if not line or any(re.fullmatch(said, line) for said in dialect.says):
            return ""
        if line in known.back.get(self.view, {}):
            self.view, self.at = known.back[self.view][line], ""
            return ""
        if line in self.broken:
            self.refused.append(line)
            return f"% Operation failed: {line.split()[0]}"
        for pattern, view in known.opens.get(self.view, []):
            if found := re.fullmatch(pattern, line):
                self.view, self.at = view, (found.groups() or ("",))[0]
                if view in ("vlan", "map", "wred"):
                    self.taken.append(("", line))
                return ""
        if any(re.fullmatch(pattern, line) for pattern in known.takes.get(self.view, [])):
            if re.fullmatch(known.asks, line):
                self.asked = line
                return "The current configuration will be saved. Are you sure? [Y/N]:"
            return self._take(line)
        self.refused.append(line)
        return known.refusal

    def _take(self, line: str) -> str:
        if line == "display startup":
            return self._startup()
        file = line.rpartition(" ")[2]
        if line.startswith("startup saved-configuration "):
            if not any(taken == f"save {file}" for _, taken in self.taken):
                return "The specified file does not exist."
            self.boots = file
        self.taken.append((self.at, line))
        return "Please wait....... Done." if self.boots == file else ""

    def _startup(self) -> str:
        """Return Comware's answer to ``display startup``; file names are shown in small letters."""
        return (
            "MainBoard:\r\n"
            " Current startup saved-configuration file: flash:/startup.cfg\r\n"
            f" Next main startup saved-configuration file: flash:/{self.boots.lower()}\r\n"
            " Next backup startup saved-configuration file: NULL"
        )

    def _confirm(self, line: str) -> str:
        """Return the answer to the text that was typed after its question."""
        command, self.asked = self.asked, ""
        if line.lower() != "y":
            return ""
        self.taken.append((self.at, command))
        return "The configuration is saved to device successfully."


class SshSwitch(SshServer):
    """A listening switch; ``shell`` is what it keeps, over all its sessions."""

    def __init__(
        self, dialect: Dialect, name: str, user="admin", password="Correct-Horse-9", broken=(), **given
    ):
        self.shell = Shell(dialect, name, broken=tuple(broken))
        self._user, self._password = user, password
        super().__init__(**given)

    def right(self, user, password):
        return (user, password) == (self._user, self._password)

    def talk(self, channel, accepts: Accepts):
        shell = self.shell
        shell.view, shell.at, shell.asked = shell.dialect.start, "", ""
        channel.sendall(f"\r\n{shell.prompt}".encode())
        line = ""
        while data := channel.recv(4096):
            said = ""
            for char in data.decode():
                if char not in "\r\n":
                    line, said = line + char, said + char
                    continue
                answer = shell.type(line)
                said += f"\r\n{answer}" + ("\r\n" if answer and not shell.asked else "") + shell.prompt
                line = ""
            channel.sendall(said.encode())
