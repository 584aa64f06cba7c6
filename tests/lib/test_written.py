# SPDX-License-Identifier: Apache-2.0
"""All that the code writes into files and databags: our formats go through their own readers first.

`write_own`, `InstallFile` with a reader, and `readable` do that. What is written without them is named here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from converge import StepError
from hostnic.ops.files import InstallFile, write_own
from lab.modelled import FakeHost

ROOT = Path(__file__).parents[2]
PLACES = re.compile(
    r"""(?m)^\s*(.*(?:\bfiles\.install\(|\bInstallFile\([^)]|\bdata\[[^]]+\]\[[^]]+\]\ =|\bdatabag\[\w+\]\ =
    ).*)$""",
    re.VERBOSE,
)
THROUGH_ITS_READER = re.compile(r"\breadable\(|bootfile\.from_json")
OTHERS = {
    "charms/cumulus-fabric/src/charm.py": {
        "relation.data[self.app][POLICY] = hosts.policy(self._fabric).to_json()": "checks itself",
    },
    "charms/cumulus-fabric/src/reports.py": {
        "self.databag[MADE] = record.written(now)": "is readable in `written`",
        "self.databag[INTENT] = text": "the operator's text, as it was read",
    },
    "charms/nic-firmware/src/commission.py": {
        "system.files.install(os.environ[RESULT], text.encode())": "for MAAS",
    },
    "charms/nic-firmware/src/images.py": {
        'system.files.install(path, b"")': "an empty file, to be filled by a download",
        'system.files.install(paths[0], b"")': "an empty file, to be filled by a copy",
    },
    "charms/nic-firmware/src/record.py": {
        "system.files.install(PATH, text.encode(), 0o600)": "is decoded in the line before",
    },
    "charms/roce-qos/src/record.py": {'system.files.install(SERVED, b"")': "only whether it exists is read"},
    "charms/sriov-switchdev/src/live.py": {
        "system.files.install(record.PREVIOUS, text.encode(), 0o600)": "is readable in the lines before",
    },
    "lib/charmkit/dispatch/dispatcher.py": {
        "self._system.files.install(path, text.encode())": "units, for systemd"
    },
    "lib/charmkit/observability.py": {"databag[name] = value": "for COS"},
    "lib/charmkit/reboot/relation.py": {
        "self._peers.data[self._me][databag.KEY] = published = state": "is readable in `encode`",
        "self._peers.data[self._me.app][databag.KEY] = text": "is readable in `encode`",
    },
    "lib/exporter/facts.py": {
        "system.files.install(path_of(facts.charm), text.encode(), 0o644)": "is readable in the line before",
    },
    "lib/exporter/install.py": {
        "system.files.install(units.path(UNIT), text.encode())": "a unit, for systemd",
        'system.files.install(units.path(UNIT), f"{wanted}\\n".encode())': "a unit, for systemd",
    },
    "lib/hostnic/boot/installed.py": {
        "op = InstallFile(path, text.encode(), *how)": "units, for systemd, and one file with its reader",
    },
    "lib/hostnic/firmware/mstflint.py": {'system.files.install(log, b"")': "a log, to be filled by a burn"},
    "lib/hostnic/handover.py": {
        "system.files.install(path, text.encode(), 0o600)": "is readable in the lines before",
    },
    "lib/hostnic/ops/boot.py": {
        "InstallFile(self.copy.path, bootcopy.archive(self.copy)).run(system)": "code",
        "InstallFile(self.copy.stamp_path, self.stamp.encode()).run(system)": "a digest that is compared",
    },
    "lib/hostnic/ops/files.py": {
        "system.files.install(self.path, self.content, self.mode)": "for files without a reader",
        "system.files.install(path, text.encode(), mode)": "is `write_own`",
    },
    "lib/hostnic/ops/lldp.py": {"system.files.install(self.path, DROP_IN.encode())": "for networkd"},
}


def places() -> Iterator[tuple[str, str]]:
    """Files and lines of the code that write, other than through a reader in the same line."""
    for path in sorted((*ROOT.glob("lib/**/*.py"), *ROOT.glob("charms/*/src/**/*.py"))):
        for line in PLACES.findall(path.read_text()):
            if not THROUGH_ITS_READER.search(line) and '"""' not in line and "Host(…)" not in line:
                yield path.relative_to(ROOT).as_posix(), line.strip()


def test_whatever_is_written_without_its_reader_is_named_with_the_reason() -> None:
    assert {*places()} == {(path, line) for path, lines in OTHERS.items() for line in lines}


def number(text: str) -> int:
    return int(text)


@pytest.mark.parametrize("text", ["", "one", "1" * 5000])
def test_a_file_that_could_not_be_read_again_stays_as_it_was(text: str) -> None:
    host = FakeHost()
    write_own(host, "/run/ovn-offload/x.json", "7", number)

    with pytest.raises(OSError, match="it could not be read again: "):
        write_own(host, "/run/ovn-offload/x.json", text, number)
    with pytest.raises(StepError, match="it could not be read again: "):
        InstallFile("/run/ovn-offload/x.json", text.encode(), read=number).run(host)

    assert host.files.read("/run/ovn-offload/x.json") == "7"
