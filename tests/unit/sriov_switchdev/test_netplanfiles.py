# SPDX-License-Identifier: Apache-2.0
"""Which of netplan's files set VFs or eswitch modes, in whatever style they are written."""

import errno

import pytest
from converge import Severity
from lab.modelled import FakeHost
from lab.rack import byhand
from observed import Writer
from writers import netplan
from writers.netplan import OVN_CHASSIS_FILE

SITE = "/etc/netplan/60-site.yaml"
COUNT, MODE, REBIND, LINK = netplan.KEYS


def host_with(*files: tuple[str, bytes | str]) -> FakeHost:
    host = FakeHost()
    for path, content in files:
        host.disk.install(path, content if isinstance(content, bytes) else content.encode(), 0o600)
    return host


def keys_of(content: bytes | str, path: str = SITE) -> tuple[str, ...] | None:
    """Of a host with this one file: the keys of the writer; None when it is none."""
    writers, findings = netplan.second_writers(host_with((path, content)))
    assert findings == ()
    return keys(writers[0]) if writers else None


def keys(writer: Writer) -> tuple[str, ...]:
    """All that the file sets."""
    found = {key for setting in writer.settings for key in setting.keys}
    return tuple(key for key in netplan.KEYS if key in found)


BLOCK = """\
network:
  version: 2
  ethernets:
    enp59s0f0np0:
      mtu: 9000
      virtual-function-count: 8
      embedded-switch-mode: switchdev
      delay-virtual-functions-rebind: true
"""

STYLES: dict[str, tuple[bytes | str, tuple[str, ...]]] = {
    "block": (BLOCK, (COUNT, MODE, REBIND)),
    "block, keys in another order": (
        "network:\n ethernets:\n  a: {}\n  b:\n   embedded-switch-mode: x\n   virtual-function-count: 1\n",
        (COUNT, MODE),
    ),
    "flow": ("network: {version: 2, ethernets: {pf: {virtual-function-count: 8}}}", (COUNT,)),
    "flow over lines": (
        "network: {\n ethernets: {pf: {mtu: 9000,\n  virtual-function-count: 8}\n}}",
        (COUNT,),
    ),
    "flow inside block": (
        "network:\n  ethernets:\n    pf: {mtu: 9000, embedded-switch-mode: legacy}\n",
        (MODE,),
    ),
    "JSON": ('{"network":{"ethernets":{"pf":{"virtual-function-count":8}}}}', (COUNT,)),
    "double quotes": ('"network":\n  "ethernets":\n    "pf":\n      "virtual-function-count": 8\n', (COUNT,)),
    "single quotes": ("'network':\n  'ethernets':\n    pf:\n      'virtual-function-count' : 8\n", (COUNT,)),
    "quotes with an escape": ('network: {ethernets: {pf: {"virtual\\x2dfunction\\x2dcount": 8}}}', (COUNT,)),
    "explicit key": (
        "network:\n  ethernets:\n    pf:\n      ? virtual-function-count\n      : 8\n",
        (COUNT,),
    ),
    "literal key": ("network:\n ethernets:\n  pf:\n   ? |-\n    virtual-function-count\n   : 8\n", (COUNT,)),
    "anchor": ("network:\n ethernets:\n  a: &pf {virtual-function-count: 8}\n  b: *pf\n", (COUNT,)),
    "anchor elsewhere": ("x: &pf {virtual-function-count: 8}\nnetwork: {ethernets: {a: *pf}}\n", (COUNT,)),
    "alias as a key": ("x: &k virtual-function-count\nnetwork: {ethernets: {a: {*k : 8}}}\n", (COUNT,)),
    "merge": (
        "x: &pf {virtual-function-count: 8}\nnetwork: {ethernets: {a: {<<: *pf, mtu: 9000}}}\n",
        (COUNT,),
    ),
    "merges": (
        "x: &c {virtual-function-count: 8}\ny: &m {embedded-switch-mode: switchdev}\n"
        "network: {ethernets: {a: {<<: [*c, *m]}}}\n",
        (COUNT, MODE),
    ),
    "merge of a merge": (
        "x: &c {virtual-function-count: 8}\ny: &m {<<: *c}\nnetwork: {ethernets: {a: {<<: *m}}}\n",
        (COUNT,),
    ),
    "merge within itself": ("network: {ethernets: {a: &a {<<: *a, virtual-function-count: 8}}}\n", (COUNT,)),
    "merged section": ("x: &n {ethernets: {a: {virtual-function-count: 8}}}\nnetwork: {<<: *n}\n", (COUNT,)),
    "a tag": ("network: !x {ethernets: !!map {a: !y {!!str virtual-function-count: !z 8}}}\n", (COUNT,)),
    "the section twice": (
        "network:\n ethernets: {a: {virtual-function-count: 8}}\n ethernets: {a: {mtu: 9000}}\n",
        (COUNT,),
    ),
    "a comment above": ("# VFs\n---\n" + BLOCK, (COUNT, MODE, REBIND)),
    "no value": ("network: {ethernets: {a: {virtual-function-count: }}}", (COUNT,)),
    "declared VFs": ("network: {ethernets: {pf: {}, vf0: {link: pf}, vf1: {link: pf}}}", (LINK,)),
    "UTF-8 with a mark": (b"\xef\xbb\xbf" + BLOCK.encode(), (COUNT, MODE, REBIND)),
    "UTF-16": (b"\xff\xfe" + BLOCK.encode("utf-16-le"), (COUNT, MODE, REBIND)),
    "UTF-16, the other order": (b"\xfe\xff" + BLOCK.encode("utf-16-be"), (COUNT, MODE, REBIND)),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_file_that_sets_vfs_or_the_mode_is_found_in_every_style(style: str) -> None:
    content, expected = STYLES[style]
    assert keys_of(content) == expected


HARMLESS = {
    "nothing": "",
    "a comment": "# virtual-function-count: 8\nnetwork: {version: 2}\n",
    "comments only": "# network:\n#   ethernets:\n#     pf: {virtual-function-count: 8}\n",
    "a value": "network: {ethernets: {pf: {set-name: virtual-function-count}}}",
    "a VLAN's link": "network: {ethernets: {pf: {link-local: []}}, vlans: {v: {id: 7, link: pf}}}",
    "another section": "network: {bonds: {bond0: {parameters: {virtual-function-count: 8}}}}",
    "too deep": "network: {ethernets: {pf: {match: {virtual-function-count: 8}}}}",
    "a document that netplan passes over": "network: {version: 2}\n---\n" + BLOCK,
    "a list": "[network, ethernets, virtual-function-count]",
    "no mapping": "network: {ethernets: virtual-function-count}",
}


@pytest.mark.parametrize("what", HARMLESS)
def test_a_file_that_sets_neither_vfs_nor_modes_is_not_reported(what: str) -> None:
    assert keys_of(HARMLESS[what]) is None


@pytest.mark.parametrize(
    ("text", "owned"),
    [
        (byhand.netplan(8), True),
        ("network:\n  version: 2\n  ethernets:\n    enp63s0f0:\n      mtu: 9000\n", True),
        ("network: {version: 2, ethernets: {}}\n", True),
        ('{"network": {"ethernets": null}}', True),
        (byhand.SENTINEL, False),
        ("# network:\n#   ethernets:\n", False),
        ("network:\n  version: 2\n", False),
        ("", False),
    ],
)
def test_ovn_chassis_sets_vfs_while_its_file_has_ethernets(text: str, owned: bool) -> None:
    assert byhand.NETPLAN == OVN_CHASSIS_FILE
    assert (keys_of(text, OVN_CHASSIS_FILE) is not None) is owned


# Which files count.


def paths_of(*paths: str) -> list[str]:
    writers, findings = netplan.second_writers(host_with(*((path, BLOCK) for path in paths)))
    assert findings == ()
    return [writer.path for writer in writers]


@pytest.mark.parametrize("directory", ["/etc/netplan", "/run/netplan", "/lib/netplan"])
def test_each_directory_of_netplan_counts(directory: str) -> None:
    assert paths_of(f"{directory}/10-a.yaml", f"{directory}/.b.yaml", f"{directory}/c.yaml.bak") == [
        f"{directory}/10-a.yaml"
    ]


def test_etc_hides_a_file_of_the_same_name_in_lib_only() -> None:
    assert paths_of("/lib/netplan/a.yaml", "/lib/netplan/b.yaml", "/etc/netplan/a.yaml") == [
        "/etc/netplan/a.yaml",
        "/lib/netplan/b.yaml",
    ]
    assert netplan.second_writers(
        host_with(("/lib/netplan/a.yaml", BLOCK), ("/etc/netplan/a.yaml", "network: {version: 2}\n"))
    ) == ((), ())


def test_run_hides_nothing_as_it_is_empty_when_the_host_boots() -> None:
    host = host_with(
        ("/lib/netplan/a.yaml", BLOCK),
        ("/etc/netplan/b.yaml", BLOCK),
        ("/run/netplan/a.yaml", ""),
        ("/run/netplan/b.yaml", ""),
    )
    writers, _ = netplan.second_writers(host)
    assert [writer.path for writer in writers] == ["/etc/netplan/b.yaml", "/lib/netplan/a.yaml"]


# What cannot be read.

BROKEN: dict[str, bytes | str] = {
    "open bracket": "network: {ethernets: {pf: {virtual-function-count: 8}}\n",
    "tabs": "network:\n\tethernets:\n\t\tpf: {virtual-function-count: 8}\n",
    "unknown alias": "network: {ethernets: {pf: {<<: *nowhere, virtual-function-count: 8}}}\n",
    "no text": b"\xff\x00virtual-function-count\x80",
    "no UTF-8": b"network: {ethernets: {pf: {virtual-function-count: \xff}}}\n",
    "no such character": 'network: {ethernets: {pf: {"virtual-function-count\\UFFFFFFFF": 8}}}\n',
    "nesting": "virtual-function-count: " + "[" * 100_000,
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_is_no_yaml_and_may_set_vfs_blocks(what: str) -> None:
    writers, (finding,) = netplan.second_writers(host_with((SITE, BROKEN[what])))
    assert writers == ()
    assert (finding.severity, finding.subject) == (Severity.BLOCKED, SITE)
    assert finding.what.startswith("cannot be read (")
    assert finding.what.endswith("), and may set VFs or eswitch modes too")
    assert "\n" not in finding.what


def test_invalid_yaml_without_any_of_the_keys_is_not_reported() -> None:
    assert keys_of("network: {ethernets: {") is None


def test_a_passwords_line_is_not_repeated() -> None:
    text = "network:\n  ethernets: {pf: {virtual-function-count: 4\n  wifis: {w: {password: hunter2}}\n"
    _, (finding,) = netplan.second_writers(host_with((SITE, text)))
    assert "hunter2" not in finding.sentence()
    assert "in line 3" in finding.what


@pytest.mark.parametrize(("verb", "target"), [("read", SITE), ("listdir", "/etc/netplan")])
def test_what_the_kernel_does_not_give_blocks_and_the_others_are_read(verb: str, target: str) -> None:
    host = host_with((SITE, BLOCK), ("/run/netplan/a.yaml", BLOCK))
    host.fail(verb, target, OSError(errno.EIO, "Input/output error"))
    writers, (finding,) = netplan.second_writers(host)
    assert [(writer.path, keys(writer)) for writer in writers] == [
        ("/run/netplan/a.yaml", (COUNT, MODE, REBIND))
    ]
    assert (finding.severity, finding.subject) == (Severity.BLOCKED, target)
    assert "Input/output error" in finding.what


def test_a_file_that_disappears_meanwhile_is_skipped() -> None:
    host = host_with((SITE, BLOCK))
    host.fail("read", SITE, FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert netplan.second_writers(host) == ((), ())
