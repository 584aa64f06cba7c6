# SPDX-License-Identifier: Apache-2.0
"""The checker against what Juju's own parser said of the recorded bundles.

What Juju refuses before it deploys anything is Juju's to say, except a file that it cannot read, of which it
names neither line nor key. What it meets halfway through a deployment, and what it takes, the checker must
say alike.
"""

import re

import pytest
import yaml
from check import checker
from check.rule import RULES
from recorded.juju import SAID, cases, write
from yamlfile.values import FileError

CASES = {case.name: case for case in cases()}
VERDICTS = yaml.safe_load(SAID.read_text())
LIKE_JUJU = {
    *("binding-name", "option-name", "option-type", "subordinate-placement"),
    *("relation-endpoint", "relation-interface", "relation-role", "relation-twice"),
}
"""The rules whose errors Juju has, too."""


def unreadable(verdict):
    """Whether Juju cannot read a part of the bundle, which is then empty."""
    said = "\n".join([*verdict.get("refused", ()), *verdict.get("ignored", ())])
    return (
        "refused" in verdict
        and re.search(r"cannot unmarshal !!|yaml: (?!unmarshal errors)", said) is not None
    )


KINDS = {
    "unreadable": [name for name, verdict in VERDICTS.items() if unreadable(verdict)],
    "refused at once": [
        name for name, said in VERDICTS.items() if "refused" in said and not unreadable(said)
    ],
    "met while it deploys": [name for name, verdict in VERDICTS.items() if "with-charms" in verdict],
    "taken": [name for name in CASES if not VERDICTS.get(name, {}).keys() & {"refused", "with-charms"}],
}


@pytest.fixture
def found(tmp_path):
    """Return the checker's findings on a bundle by its rules that judge as Juju does."""

    def check(name):
        findings = checker.check(checker.load(write(CASES[name], tmp_path / "bundle")))
        return [finding for finding in findings if finding.rule in LIKE_JUJU]

    return check


@pytest.mark.parametrize("name", KINDS["taken"])
def test_what_juju_takes_is_taken(name, found):
    assert [str(each) for each in found(name)] == []


@pytest.mark.parametrize("name", KINDS["met while it deploys"])
def test_what_juju_meets_while_it_deploys_is_found_before(name, found):
    assert any(not each.warning for each in found(name))


@pytest.mark.parametrize("name", KINDS["unreadable"])
def test_what_juju_cannot_read_is_named_in_one_sentence(name, found):
    with pytest.raises(FileError) as refused:
        found(name)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("name", KINDS["refused at once"])
def test_what_juju_says_at_once_breaks_no_rule(name, found):
    """Whether anything is found does not matter: what is wrong here may be wrong for a rule, too."""
    try:
        found(name)
    except FileError as error:
        assert str(error).endswith(".")


def test_each_bundle_is_of_one_kind_and_has_been_recorded():
    assert sorted(name for names in KINDS.values() for name in names) == sorted(CASES)
    assert VERDICTS.keys() <= CASES.keys()


def test_the_rules_that_judge_as_juju_does_are_rules():
    assert {rule.name for rule in RULES} >= LIKE_JUJU
