# SPDX-License-Identifier: Apache-2.0
"""A real Neutron for all tests, and the acceptance tool's operator with a cloud around it for each."""

import tempfile
from pathlib import Path

import pytest
from lab.image import chosen
from lab.neutron import install
from lab.neutron.region import IDENTITY, OTHER, RealNeutron
from lab.neutron.services import Services
from lab.openstack.operator import NODES, world_in
from lab.releases import RELEASES

SOURCES = [install.released]
"""Of Neutron and Nova: PyPI always, and at night Ubuntu's packages where guests run Ubuntu."""
if RELEASES[chosen()[0]].ubuntu:
    SOURCES.append(pytest.param(install.packaged, marks=pytest.mark.thorough))


@pytest.fixture(scope="session", params=SOURCES, ids=lambda source: source.__name__)
def programs(request):
    """The programs of one release."""
    return request.param()


@pytest.fixture(scope="session")
def services(programs):
    """Neutron on OVN."""
    with (
        tempfile.TemporaryDirectory(prefix="neutron-") as folder,
        Services(programs, Path(folder), NODES) as running,
    ):
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Show what Neutron logged besides a failure."""
    report = yield
    running = item.funcargs.get("services")
    if report.failed and running and running.processes.log("neutron-server").exists():
        logged = running.processes.told("neutron-server").splitlines()
        report.sections.append(
            ("Neutron's errors", "\n".join([each for each in logged if " ERROR " in each][-40:]))
        )
    return report


@pytest.fixture
def release(request, services):
    """The release that the cloud around Neutron has: Neutron's own, or the one that a test's parameter names.

    Neutron of 2024.1 can stand for Yoga's by a policy file, but not the other way round.
    """
    wanted = getattr(request, "param", services.release)
    if services.release == "yoga" and wanted != "yoga":
        pytest.skip("a rule that came after Yoga")
    return wanted


@pytest.fixture
def world(services, release, tmp_path):
    """The operator, in front of a Neutron without networks; a test that leaves some has failed."""
    neutron = RealNeutron(services, release)
    for identity in (IDENTITY, OTHER):  # makes each project's own group, which stays
        neutron.ask("GET", "security-groups", identity=identity)
    before = left(services)
    with world_in(tmp_path, release, neutron) as made:
        yield made
        made.openstack.breaks = None
        made.run("destroy")
        services.policy("")
    assert left(services) == before


def left(services):
    """Rows of Neutron's database and OVN's northbound one, without what Neutron notes of itself.

    A quota's reservation and its amounts (`resourcedeltas`) may outlive their request: Neutron removes them
    when they have expired (`remove_expired_reservations` in `neutron/db/quota/api.py`).
    """
    rows = +services.rows()
    quotas = ("quotas", "quotausages", "reservations", "resourcedeltas")
    for table in ("ovn_hash_ring", "ovn_revision_numbers", *quotas):
        rows.pop(table, None)
    return rows, +services.northbound()
