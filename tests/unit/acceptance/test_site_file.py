# SPDX-License-Identifier: Apache-2.0
"""A site file that is wrong or missing is refused in one sentence, with file and line."""

import pytest
from lab.openstack.operator import one_sentence


@pytest.mark.parametrize(
    ("site", "words"),
    [
        ({"node": ["a"]}, "node: 'node' is not allowed; expected only the keys nodes"),
        ({"seconds": 0}, "seconds: 0 is not allowed; expected seconds from 1 to 3600"),
        ({"nodes": ["a", "a"]}, "two or more different compute hosts"),
        ({"nodes": ["a"]}, "two or more different compute hosts"),
        ({"disturb": ["c"]}, "expected compute hosts that nodes or other-rack list"),
        ({"software": ["vpp"]}, "expected dpdk, trex or cuda"),
        (
            {"public": {"cidr": "10.0.0.0/24", "first": "10.7.208.65"}},
            "public.first: '10.7.208.65' is not allowed; expected",
        ),
        ({"public": {"cidr": "10.0.0.1/24"}}, "an IPv4 subnet without host bits"),
        ({"flavor": {"vcpus": 400}}, "expected a whole number from 2 to 100"),
    ],
)  # fmt: skip
def test_a_wrong_site_file(world, site, words):
    world.site = site
    status, _, err = world.run("plan")
    assert status == 2
    assert words in one_sentence(err)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("mtu: 9000\nseconds: 30\nmtu: 1500\n", 3, "the key mtu stands twice in one mapping"),
        ("flavor:\n\tram: 8192\n", 2, "this is not YAML: found character '\\t' that cannot start any token"),
        ("seconds: 30\nmtu: 0x2328\n", 2, "mtu: '0x2328' is not allowed; expected an MTU from 1280 to 65535"),
        ("nodes: [a, b]\nflavor: {vcpus: yes}\n", 2, "flavor.vcpus: 'yes' is not allowed; expected a whole"),
    ],
    ids=["a second key", "a tab", "a number in another base", "a word"],
)
def test_a_site_file_is_refused_with_file_and_line(world, tmp_path, text, line, said):
    path = tmp_path / "other.yaml"
    path.write_text(text)
    status, _, err = world.run("plan", "--site", str(path))
    assert status == 2
    assert one_sentence(err).startswith(f"{path}:{line}: {said}")


def test_a_site_file_that_is_not_there(world, tmp_path):
    status, _, err = world.run("plan", "--site", str(tmp_path / "other.yaml"))
    assert status == 2
    assert "cannot be read: No such file or directory" in one_sentence(err)
