# SPDX-License-Identifier: Apache-2.0
"""The results of a tool on a site of the gallery, against the site's expectation: the tests' side."""

import pytest
from sites.gallery import OWN, Seen, Site, complaints, false_alarms, row


def judge(site: Site, tool: str, seen: Seen) -> None:
    """Fail unless the tool said and wrote what the site expects; print the row of the gallery's table.

    What is pending is a strict expected failure: once the tool is mended, the reason has to go.
    """
    expected = site.expected[tool]
    wrong = complaints(expected, seen, OWN.get(tool, ()))
    print(f"{row(site, tool, expected)} {len(false_alarms(expected, seen))} false alarms")
    if reason := expected.get("pending"):
        assert wrong, f"{site}: {tool} is mended: remove `pending` from expected.yaml"
        pytest.xfail(f"{reason}: {wrong[0]}")
    assert wrong == [], "\n".join(wrong)
