# SPDX-License-Identifier: Apache-2.0
"""The search box leads operators to the page that answers.

A question is split as Sphinx's searchtools.js splits it, at all that is no letter, digit or underscore, and
without its stop words. Pages are scored as there: 15 for a word of the title, 7 for a part of one, 5 for a
word of the text, 2 for a part of one; a page has all words.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sphinx.search.en import SearchEnglish

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated. Check CHANGES for Sphinx API")  # of MyST

FIRST = 5
"""Results that somebody looks at."""

QUESTIONS = {
    "uninstall": "how-to/remove-a-charm",
    "remove charm": "how-to/remove-a-charm",
    "remove": "how-to/undo",
    "uninstall everything": "how-to/undo",
    "add-unit": "how-to/add-a-node",
    "another rack": "how-to/add-a-node",
    "remove node": "how-to/add-a-node",
    "more VFs": "how-to/change-a-running-cloud",
    "num-vfs running cloud": "how-to/change-a-running-cloud",
    "QoS policy": "how-to/change-a-running-cloud",
    "card model whitelist": "how-to/replace-a-card",
    "kernel hwe": "how-to/prepare-a-node",
    "kernel upgrade": "how-to/new-kernel-new-release",
    "release upgrade": "how-to/new-kernel-new-release",
    "link of VF cable": "how-to/follow-the-uplink",
    "firewall": "reference/connections",
    "ports accounts": "reference/connections",
    "rollback": "reference/generated/cumulus-fabric",
    "replace card": "how-to/replace-a-card",
    "switch drain": "how-to/a-year-with-the-fabric",
    "upgrade revision": "how-to/refresh",
    "supported cards": "reference/generated/documents/bundles/scope",
    "evacuate": "how-to/reboot-the-nodes",
    "node does not come back": "how-to/when-a-node-does-not-come-back",
    "firmware image": "how-to/burn-firmware",
    "vulnerability": "reference/generated/documents/SECURITY",
}


@pytest.fixture(scope="module")
def index(site: Path) -> dict[str, Any]:
    text = (site / "searchindex.js").read_text()
    return json.loads(text[text.index("(") + 1 : text.rindex(")")])


def found(index: dict[str, Any], query: str) -> list[str]:
    """The pages, best first."""
    english = SearchEnglish({})
    words = [word for word in re.split(r"\W+", query.lower()) if word and word not in english.stopwords]
    scores: list[dict[int, int]] = []
    for word in map(english.stem, words):
        score: dict[int, int] = {}
        for terms, whole, part in ((index["titleterms"], 15, 7), (index["terms"], 5, 2)):
            for term, pages in terms.items():
                worth = whole if term == word else part if len(word) > 2 and word in term else 0
                for page in [pages] if isinstance(pages, int) else pages:
                    score[page] = max(score.get(page, 0), worth)
        scores.append({page: worth for page, worth in score.items() if worth})
    shared = set.intersection(*map(set, scores))
    best = sorted(shared, key=lambda page: (-sum(score[page] for score in scores), index["docnames"][page]))
    return [index["docnames"][page] for page in best]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_among_the_first_results(index: dict[str, Any], question: str) -> None:
    assert QUESTIONS[question] in found(index, question)[:FIRST]
