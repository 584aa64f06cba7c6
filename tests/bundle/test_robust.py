# SPDX-License-Identifier: Apache-2.0
"""The checker names the faults of a user's files, whatever they hold; it never falls over."""

import re
from pathlib import Path

import yaml
from check import checker
from check.merge import Part, merge, parts
from check.model import Bundle
from hypothesis import example, given, settings
from hypothesis import strategies as st
from maas.sitefile.reader import read_site
from yamlfile.values import FileError, Map, Place, Seq

ROOT = Path(__file__).parents[2]
SITE = read_site(ROOT / "tools/maas/site-example.yaml")
GOOD = yaml.safe_load((ROOT / "tests/bundle/rdg.yaml").read_text())
WORDS = st.sampled_from(
    ["", "0", "lxd:9", "a:b", "glance:amqp", "^x", "[{", '["x"]', "{}", "1-", "none:0", "on"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 70000) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)


def places(value, path=()):
    """Every place of a tree."""
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in children:
        yield from places(item, (*path, key))


PLACES = [path for path in places(GOOD) if path]


def replaced(value, path, junk):
    if not path:
        return junk
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copy


def tree(value):
    """The value as the reader would give it."""
    here = Place("x.yaml", 1)
    if isinstance(value, dict):
        result = Map(here)
        for key, item in value.items():
            result.put(str(key), tree(item), here)
        return result
    if isinstance(value, list):
        items = Seq(here)
        items.extend(map(tree, value))
        items.places = [here] * len(value)
        return items
    return value


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(PLACES), JUNK, st.booleans())
@example(("applications",), {"": False}, False)
def test_a_bundle_with_anything_anywhere_is_checked(path, junk, as_overlay):
    """Also as an overlay on the good bundle."""
    broken = replaced(GOOD, path, junk)
    documents = [
        Part(Path("x.yaml"), tree(document)) for document in ([GOOD] if as_overlay else []) + [broken]
    ]
    try:
        found = checker.check(Bundle(merge(documents), documents, SITE))
    except FileError as error:
        assert re.fullmatch(r"x\.yaml:1: .+ is .+\. Write .+\.", str(error))
    else:
        assert all(finding.what and finding.instead for finding in found)


INTENT = yaml.safe_load((ROOT / "charms/cumulus-fabric/examples/rdg.yaml").read_text())
OURS = parts([ROOT / "bundles/ovn-offload-jammy-yoga.yaml"])


@settings(deadline=None, max_examples=50)
@given(st.sampled_from([path for path in places(INTENT) if path]), JUNK)
@example(("mtu",), ["9216"])
@example(("roce",), "lossless")
@example(("networks", "oam", "vlan"), [9])
@example(("networks", "oam", "space"), ["oam-space"])
def test_an_intent_with_anything_anywhere_is_checked(path, junk):
    intent = yaml.safe_dump(replaced(INTENT, path, junk))
    overlay = tree({"applications": {"cumulus-fabric": {"options": {"intent": intent}}}})
    documents = [*OURS, Part(Path("x.yaml"), overlay)]
    found = checker.check(Bundle(merge(documents), documents, SITE))
    assert all(finding.what and finding.instead for finding in found)
