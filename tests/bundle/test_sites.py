# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites with the checker and `adopt`; and that the gallery itself finds what is wrong."""

import pytest
from sites import gallery
from sites.drivers import checker
from sites.gallery import Found, Seen, complaints, false_alarms
from sites.judge import judge


@pytest.mark.parametrize("site", gallery.of("checker"), ids=str)
def test_the_checker(site):
    judge(site, "checker", checker.see(site))


@pytest.mark.parametrize("site", gallery.of("adopt"), ids=str)
def test_adopting_it(site):
    judge(site, "adopt", checker.adopt(site))


@pytest.mark.parametrize("site", gallery.sites(), ids=str)
def test_a_site_says_what_it_is_and_what_its_tools_must_do(site):
    expected = {**site.expected}
    assert expected.pop("about").endswith(".")
    assert expected
    assert set(expected) <= set(gallery.TOOLS)
    for said in expected.values():
        assert set(said) <= gallery.KEYS


@pytest.mark.parametrize("site", gallery.sites(), ids=str)
def test_each_tool_reads_what_a_site_has_for_it_or_the_site_says_why_not(site):
    assert site.readers - site.expected.keys() == site.untried.keys()
    assert all(reason.strip() for reason in site.untried.values())


@pytest.mark.parametrize("site", gallery.of("adopt"), ids=str)
def test_a_site_to_adopt_says_what_the_charms_would_own(site):
    assert "owned by sriov-switchdev" in {each["about"] for each in site.expected["adopt"].get("told", ())}


WARNED = Found("warning", "eno1", "is not ours")
EXPECTED = {
    "findings": [{"severity": "warning", "about": "eno*"}],
    "unsaid": ["delete it"],
    "writes": ["PATCH *"],
    "never": ["* lo"],
}


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (Seen([WARNED], ["PATCH swp1"]), []),
        (Seen([WARNED, Found("blocked", "eno1", "is not ours")], ["PATCH swp1"]), ["false alarm"]),
        (Seen([], ["PATCH swp1"]), ["not found"]),
        (Seen([WARNED, Found("info", "eno2", "stays")], []), ["no such write"]),
        (Seen([WARNED, Found("info", "eno2", "delete it")], ["PATCH swp1"]), ["said"]),
        (Seen([WARNED], ["PATCH swp1", "DELETE swp1"]), ["unexpected write"]),
        (Seen([WARNED], ["PATCH swp1", "PATCH lo"]), ["harm"]),
    ],
)
def test_what_a_site_does_not_expect_is_found(seen, says):
    assert [each.partition(":")[0] for each in complaints(EXPECTED, seen)] == says
    assert len(false_alarms(EXPECTED, seen)) == says.count("false alarm")
