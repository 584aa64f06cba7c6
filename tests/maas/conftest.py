# SPDX-License-Identifier: Apache-2.0
"""A region that answers in place of a MAAS, the example site for it, and the command."""

import urllib.request
from functools import partial

import pytest
from lab.maas import KEY, Region
from lab.maassite import NUMA, PASSWORD, PORTS, commission, discover, written
from maas import __main__ as command

BUILD_OPENER = urllib.request.build_opener


@pytest.fixture
def maas(monkeypatch):
    """A region that answers where urllib would open a connection."""
    region = Region()
    discover(region, "192.168.25.0/24")
    monkeypatch.setattr(urllib.request, "build_opener", partial(BUILD_OPENER, region))
    return region


@pytest.fixture
def site(maas, tmp_path):
    """The example site, for this region."""
    return written(tmp_path)


@pytest.fixture
def run(site, capsys):
    def run(verb, *words, expected=0):
        status = command.main([verb, str(site), *words])
        said = capsys.readouterr()
        assert status == expected, said
        assert PASSWORD not in said.out + said.err
        assert KEY not in said.out + said.err
        return said.out + said.err

    return run


@pytest.fixture
def built(maas, run):
    """A region to which the site was applied, before and after commissioning."""
    run("apply")
    commission(maas, "controller", PORTS[:1])
    for name in ("node1", "node2", "node3"):
        commission(maas, name, PORTS, NUMA)
    run("apply")
    return maas
