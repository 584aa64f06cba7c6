# SPDX-License-Identifier: Apache-2.0
"""What a file says of VFs and modes, and what the programs that it starts say."""

import re
from collections.abc import Collection, Iterable, Iterator

from hostnic.devices.model import Pf
from hostnic.system import System, if_told, list_names
from observed import Setting, Writer

from writers.ports import VARIABLE, ports_named

ESWITCH_SET = r"\be(?:s(?:w\w*)?)?\s+s(?:et?)?\b"
"""devlink takes each of its words cut short (strcmpx in iproute2's devlink.c)."""
SETS = re.compile(
    rf"(?<![\w-])sriov_numvfs\b(?![.-])|mlx5_num_vfs|\bd(?:ev?)?\s+{ESWITCH_SET}|compat/devlink/mode|\bnumVfs\b"
)
"""Of MLNX_OFED's drivers are mlx5_num_vfs and compat, and numVfs of sriov-network-operator's files."""

TARGET = re.compile(
    r"/sys/(?:class/net|bus/pci/devices)/[^*$`\"'\s/][^/\s]*/(?:device/)?(?:sriov_numvfs|compat/devlink/mode)"
    rf"|{ESWITCH_SET}\s+pci/[^*$`\"'\s]"
)
"""A write that names its port, at least its beginning, and not by a variable."""

READS = re.compile(
    r"(?:\b(?:cat|grep)\s(?:[^\n;|&>]*\s)?|\[+\s+-\w\s+|<\s*)[^\s;|&>]*?(?:sriov_numvfs|compat/devlink/mode)"
    r"|\bopen\([^\n]*?sriov_numvfs[\"'](?:\.format\([^)]*\))?\)+(?=\.read|\s+as\b)"
    r"|sriov_numvfs[\"']\)*(?=\.read_text)"
)
"""Where a text only reads them."""
COMMENT = re.compile(r"\s#\s[^\"'`]*$")
SPEAKING = re.compile(r"sriov|vfs?\b|mlx|mlnx|switchdev|eswitch|openibd", re.IGNORECASE)
"""Names of packages' files that are read, as there are hundreds of others."""
BACKUP = re.compile(r"~$|\.dpkg-\w+$")
STARTED = r"^\s*(?:Exec\w+|Environment(?:File)?)\s*=.*$"
"""The lines of a unit that say what it starts."""
PROGRAM = re.compile(
    r"/(?:usr/local|opt|etc|root|home|srv|var(?!/log)|(?:usr/)?lib/(?:udev|tuned))/[^\s\"';&|,)\]]+"
    r"|/(?:usr/)?s?bin/[^\s\"';&|]*(?:sriov|vfs|switchdev|eswitch)[^\s\"';&|]*"
)

STANZA = r"^(?=[ \t]*(?:iface|mapping|auto|allow-\w+|source(?:-directory)?)[ \t])"
TEMPLATE = re.compile(r"^[ \t]*%|<%", re.MULTILINE)


def of_text(
    system: System,
    path: str,
    text: str,
    pfs: Collection[Pf],
    name: str,
    tool: str,
    says: str = STARTED,
    instance: str = "",
) -> Iterator[Writer]:
    """What a text says and starts: ports may be named by any of these files, or by a unit's ``instance``."""
    text = text.replace("\\\n", " ")
    started = "\n".join(re.findall(says, text, re.MULTILINE))
    programs = programs_of(system, started)
    programs |= programs_of(system, "\n".join(programs.values()))
    named = "\n".join((started, *programs.values()))
    writes = [line for line in named.splitlines() if SETS.search(line)]
    if all(len(TARGET.findall(VARIABLE.sub("*", line))) == len(SETS.findall(line)) for line in writes):
        named = "\n".join(writes) or named  # each has its port: others are there for something else
    ports = ports_named(named, pfs, instance)
    for where, content in {path: plain(text), **programs}.items():
        if SETS.search(content):
            yield Writer(where, (Setting(name, _lines(content), ports),), tool)


def programs_of(system: System, text: str) -> dict[str, str]:
    """Scripts and files that a text names and no package brings, by their paths: without comments.

    What is compiled is left out: exporters have the attribute's name, too, and only read it.
    """
    found = {path: read(system, path) for path in PROGRAM.findall(text)}
    return {path: plain(content) for path, content in found.items() if "\0" not in content}


def _lines(text: str) -> tuple[str, ...]:
    """What to remove, in words."""
    if "numVfs" in text:
        return ("the port from the policies of sriov-network-operator, and then numVfs",)
    found = (re.sub(r"\s+", " ", each) for each in SETS.findall(text))
    return (f"the lines with {' and '.join(dict.fromkeys(found))}",)


def plain(text: str) -> str:
    """Without comments, and without what only reads."""
    lines = (COMMENT.sub("", x) for x in text.splitlines() if not x.lstrip().startswith(("#", ";")))
    return READS.sub("", "\n".join(lines))


def stanzas(text: str) -> list[str]:
    """interfaces(5) by stanza: each says which port it is about. A template of ifupdown2 stays whole."""
    return [text] if TEMPLATE.search(text) else re.split(STANZA, text, flags=re.MULTILINE)


def files_in(system: System, place: str) -> list[str]:
    """The file at ``place``, or the files in the directory there, without editors' and dpkg's copies."""
    try:
        return [f"{place}/{name}" for name in sorted(system.files.listdir(place)) if not BACKUP.search(name)]
    except NotADirectoryError:
        return [place]
    except OSError:
        return []


def in_force(system: System, directories: Iterable[str], end: str) -> Iterator[str]:
    """Files of systemd that count: one hides those of its name in later directories, also an empty one.

    The next boot begins with an empty /run, which hides nothing then.
    """
    hidden = set[str]()
    for directory in directories:
        names = [name for name in list_names(system, directory) if name.endswith(end)]
        yield from (f"{directory}/{name}" for name in names if name not in hidden)
        hidden.update(() if directory.startswith("/run/") else names)


def read(system: System, path: str) -> str:
    """A file's text; nothing where there is none, or where it cannot be read."""
    return if_told(lambda: system.files.read(path)) or ""
