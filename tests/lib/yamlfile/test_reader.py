# SPDX-License-Identifier: Apache-2.0
"""The meaning of YAML in each dialect; hostile text ends in one sentence with file and line."""

from pathlib import Path

import pytest
from converge.shape import Integer, Record
from yamlfile.reader import CORE, JUJU, MOST, MOST_MERGED, documents, read, text_of
from yamlfile.values import FileError, Place, place_of

HOLDS = "such a file is a mapping"
DIALECTS = {"core": CORE, "juju": JUJU}


def value(word, dialect):
    (document,) = documents(f"key: {word}", "x.yaml", HOLDS, dialect)
    return document["key"]


@pytest.mark.parametrize(
    ("word", "core", "juju"),
    [
        ("on", "on", True),
        ("yes", "yes", True),
        ("n", "n", False),
        ("true", True, True),
        ("True", "True", True),
        ("~", None, None),
        ("", None, None),
        ("NULL", "NULL", None),
        ("8", 8, 8),
        ("-8", -8, -8),
        ("0144", "0144", 100),
        ("1_000", "1_000", 1000),
        ("0x10", "0x10", 16),
        ("0.25", "0.25", 0.25),
        ("1e3", "1e3", "1e3"),
        ("1e+3", "1e+3", 1000.0),
        ("08", "08", "08"),
        ("2.", "2.", "2."),
        ("10:20", "10:20", "10:20"),
        ("44:38:39:22:01:18", "44:38:39:22:01:18", "44:38:39:22:01:18"),
        ("2-23", "2-23", "2-23"),
        ("2022-09-07", "2022-09-07", "2022-09-07"),
        ("2022-99-99", "2022-99-99", "2022-99-99"),
        ("'8'", "8", "8"),
    ],
)
def test_what_a_word_is(word, core, juju):
    """JUJU is what go-yaml 2 makes of it in Juju's own fork; tests/recorded/juju has its words."""
    for dialect, expected in ((CORE, core), (JUJU, juju)):
        found = value(word, dialect)
        assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_numbers_as_keys_are_words(dialect):
    (document,) = documents("machines: {0: , '1': }", "x.yaml", HOLDS, dialect)
    assert list(document["machines"]) == ["0", "1"]


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
MERGES = f"m0: &m0 {{{', '.join(f'k{n}: 1' for n in range(2000))}}}\n" + "".join(
    f"m{n}: {{<<: *m0}}\n" for n in range(1, 1000)
)
HOSTILE = {
    "no end": ("a:\n  b: [1", 2, "this is not YAML: expected ',' or ']', but got '<stream end>'"),
    "tab": (
        "networks: {oam: {vlan: 1}}\n\tracks: []",
        2,
        "this is not YAML: found character '\\t' that cannot start any token",
    ),
    "list as key": ("b: 1\n? [a]\n: 1", 2, "a key is a word, not a mapping or a list"),
    "Python": (
        "b: 1\na: !!python/object/apply:os.system [true]",
        2,
        "this is not YAML: could not determine a",
    ),
    "NUL": ("b: 1\n\n\x00", 3, "this is not YAML: special characters are not allowed"),
    "surrogate": ("b: 1\na: \ud800", 2, "this is not YAML: special characters are not allowed"),
    "number": (f"b: 1\nvlan: {'9' * 5000}", 2, "this value does not fit its tag, or is too long"),
    "list's tag": ("b: 1\na: !!seq {a: b}", 2, "this has the tag of a list, and is none"),
    "mapping's tag": ("\n!!map x", 2, "this has the tag of a mapping, and is none"),
    **{
        f"tag {word}": (f"b: 1\na: !!{word}", 2, "this value does not fit its tag, or is too long")
        for word in ("int x", "int ''", "float x", "bool x", "timestamp x", "timestamp 2022-99-99")
    },
    "text": ("just text", 1, HOLDS),
    "nested": ("b: 1\na: " + "[" * 5000, 2, "this is nested too deeply"),
    "unknown alias": ("b: 1\na: *x", 2, "this is not YAML: found undefined alias 'x'"),
    "endless alias": ("b: 1\na: &a [*a]", 2, "this is not YAML: found unconstructable recursive node"),
    "document in itself": ("&a\nb: *a", 1, "an alias contains itself"),
    "bomb": (BOMB, 7, f"aliases make more than {MOST} values of this"),
    "merge keys": (MERGES, 52, f"merge keys make more than {MOST_MERGED} values of this"),
    "merge of a word": ("a: 1\nb: {<<: x}", 2, "a merge key takes a mapping, or a list of mappings"),
    "merge of words": ("a: 1\nb: {<<: [{c: 1}, x]}", 2, "a merge key takes a mapping, or a list of mappings"),
}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize(("text", "line", "said"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_in_one_sentence_with_file_and_line(text, line, said, dialect):
    with pytest.raises(FileError) as refused:
        documents(text, "x.yaml", HOLDS, dialect)
    assert str(refused.value).startswith(f"x.yaml:{line}: {said}")
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


TWICE = "a:\n  b: 1\n  c: 2\n  b: 3\n"


def test_a_key_that_stands_twice_is_refused():
    with pytest.raises(FileError) as refused:
        documents(TWICE, "x.yaml", HOLDS)
    said = "x.yaml:4: the key b stands twice in one mapping; remove or rename one of them."
    assert str(refused.value) == said


def test_of_a_bundle_the_last_of_two_keys_counts():
    (document,) = documents(TWICE, "x.yaml", HOLDS, JUJU)
    assert document["a"]["b"] == 3
    assert document["a"].places["b"] == Place("x.yaml", 4)


def test_a_merge_key_gives_what_the_mapping_itself_does_not_have():
    text = "one: &one {a: 1, b: 1}\ntwo: &two {c: 2}\nboth:\n  <<: *one\n  <<: *two\n  b: 3\n"
    (document,) = documents(text, "x.yaml", HOLDS)
    assert document["both"] == {"a": 1, "b": 3, "c": 2}


LEVELS = {
    "in lists": "m0: &m0 {a: 1, b: 1}\n"
    + "".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 30)),
    "one by one": "m0: &m0 {a: 1, b: 1}\n"
    + "".join(f"m{n}: &m{n}\n" + f"  <<: *m{n - 1}\n" * 9 for n in range(1, 30)),
}


@pytest.mark.parametrize("text", LEVELS.values(), ids=LEVELS)
def test_levels_of_merge_keys_do_not_multiply(text):
    (document,) = documents(text, "x.yaml", HOLDS)
    assert document["m29"] == {"a": 1, "b": 1}


def test_of_merged_mappings_the_first_has_precedence():
    text = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nboth: {<<: [*one, *two], c: 3}\n"
    (document,) = documents(text, "x.yaml", HOLDS)
    assert document["both"] == {"a": 1, "b": 1, "c": 3}


def test_a_mapping_that_is_merged_into_itself_has_its_own_keys():
    (document,) = documents("a: &a {<<: *a, b: 1}", "x.yaml", HOLDS)
    assert document["a"] == {"b": 1}


@pytest.mark.parametrize(
    ("path", "line"), [("a.b-c", 2), ("a.d[1]", 5), ("a.d[1].e", 5), ("a.none", 1), ("", 1), ("a.d[7]", 3)]
)
def test_the_place_of_a_value_by_its_path(path, line):
    (document,) = documents("a:\n  b-c: 1\n  d:\n  - x\n  - e: 2\n", "x.yaml", HOLDS)
    assert place_of(document, path) == Place("x.yaml", line)


NUMBER = Record(lambda n: n, {"n": Integer(1, 9)}, required=["n"])


def test_a_value_that_the_file_may_not_have_is_named_with_its_line():
    with pytest.raises(FileError) as refused:
        read("\nn: ten\n", "x.yaml", lambda document: NUMBER.read("", document), HOLDS)
    said = "n: 'ten' is not allowed; expected a whole number from 1 to 9"
    assert str(refused.value) == f"x.yaml:2: {said}."


def test_an_empty_file_lacks_what_is_required():
    with pytest.raises(FileError, match=r"^x.yaml:1: n: an empty value is not allowed; expected a whole"):
        read("# nothing\n", "x.yaml", lambda document: NUMBER.read("", document), HOLDS)


def test_a_second_document_is_refused():
    with pytest.raises(
        FileError, match=r"^x.yaml:3: a second document begins here; such a file is a mapping.$"
    ):
        read("n: 1\n---\nn: 2\n", "x.yaml", lambda document: NUMBER.read("", document), HOLDS)


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(FileError) as refused:
        text_of(path)
    assert str(refused.value) == f"{path}:2: this is not UTF-8."
