# SPDX-License-Identifier: Apache-2.0
"""A region that answers in place of a MAAS, the example site for it, and the command."""

import pytest
from lab.maas import KEY, Region
from lab.maassite import PASSWORD, connect, discover, equip, written
from maas import __main__ as command
from maas.client import Maas
from maas.plan import observe, plan
from maas.sitefile.reader import read_site


@pytest.fixture
def maas(monkeypatch):
    """A region that answers where urllib would open a connection."""
    region = Region()
    discover(region, "192.168.25.0/24")
    connect(monkeypatch, region)
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
def findings(maas, site):
    """Return the findings of a plan, as `severity: what; remedy`."""

    def findings():
        read = read_site(site)
        found = plan(read, observe(Maas("http://192.168.25.1:5240/MAAS", KEY), read)).findings
        return "\n".join(f"{each.severity.name.lower()}: {each.what}; {each.remedy}" for each in found)

    return findings


@pytest.fixture
def built(maas, run):
    """A region to which the site was applied, before and after commissioning."""
    run("apply")
    equip(maas)
    for commission in maas.hardware.values():
        commission()
    run("apply")
    return maas
