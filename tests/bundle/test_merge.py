# SPDX-License-Identifier: Apache-2.0
"""Overlays merge as Juju's own tests and documents say; places are kept."""

from pathlib import Path

import pytest
from check.merge import Part, merge, parse
from yamlfile.values import FileError, Map, Place

param = pytest.param
BASE = """
applications:
  apache2:
    charm: apache2
    num_units: 1
    to: ["0"]
    options: {port: 80, root: /srv}
    bindings: {website: public}
    constraints: mem=4G
  wordpress:
    charm: wordpress
relations:
- [wordpress:www, apache2:www]
- [wordpress:db, "mysql:db"]
machines:
  "0": {constraints: mem=8G}
  "1":
"""


def merge_texts(*texts: str) -> Map:
    """The bundle that Juju would deploy of these texts."""
    documents = [
        Part(Path(f"{index}.yaml"), document)
        for index, text in enumerate(texts)
        for document in parse(text, f"{index}.yaml")
    ]
    return merge(documents)


@pytest.mark.parametrize(
    ("overlay", "expected"),
    [
        param("applications: {wordpress: }", {"apache2"}, id="null removes"),
        param("applications: {wordpress: {}}", {"apache2", "wordpress"}, id="an empty body changes nothing"),
        param(
            "applications: {mysql: {charm: mysql}}",
            {"apache2", "wordpress", "mysql"},
            id="a new one is added",
        ),
        param("applications: {none: }", {"apache2", "wordpress"}, id="removing what is not there"),
    ],
)
def test_applications(overlay, expected):
    assert set(merge_texts(BASE, overlay)["applications"]) == expected


@pytest.mark.parametrize(
    ("overlay", "field", "expected"),
    [
        param(
            "{options: {port: 81, debug: true}}",
            "options",
            {"port": 81, "root": "/srv", "debug": True},
            id="options by key",
        ),
        param("{options: {port: }}", "options", {"root": "/srv"}, id="a null option is removed"),
        param('{options: {root: ""}}', "options", {"port": 80, "root": ""}, id="an empty word is a value"),
        param("{options: }", "options", None, id="null clears a map"),
        param("{options: {}}", "options", {"port": 80, "root": "/srv"}, id="an empty map changes nothing"),
        param(
            "{bindings: {cluster: internal}}",
            "bindings",
            {"website": "public", "cluster": "internal"},
            id="bindings by key",
        ),
        param("{bindings: {website: }}", "bindings", {"website": ""}, id="a null binding is the empty word"),
        param('{to: ["1"]}', "to", ["1"], id="lists are replaced"),
        param("{num_units: 3}", "num_units", 3, id="numbers are replaced"),
        param("{constraints: }", "constraints", None, id="null clears a word"),
        param("{annotations: {x: z}}", "annotations", {"x": "z"}, id="a map that the base does not have"),
        param("{channel: stable}", "charm", "apache2", id="what is not named stays"),
    ],
)
def test_fields_of_an_application(overlay, field, expected):
    merged = merge_texts(BASE, f"applications: {{apache2: {overlay}}}")
    assert merged["applications"]["apache2"][field] == expected


def test_relations_are_added_and_go_with_their_application():
    merged = merge_texts(BASE, "relations: [[apache2:a, other:b]]")
    assert [list(relation) for relation in merged["relations"]] == [
        ["wordpress:www", "apache2:www"],
        ["wordpress:db", "mysql:db"],
        ["apache2:a", "other:b"],
    ]
    assert merge_texts(BASE, "applications: {wordpress: }")["relations"] == []
    assert len(merge_texts(BASE, "applications: {word: }")["relations"]) == 2


def test_machines_are_replaced_whole():
    assert set(merge_texts(BASE, 'machines: {"2": {}}')["machines"]) == {"2"}
    assert set(merge_texts(BASE, "machines: {}")["machines"]) == set()
    assert set(merge_texts(BASE, "machines: ")["machines"]) == {"0", "1"}


def test_series_wins_and_default_base_is_not_looked_at():
    merged = merge_texts(f"default-base: ubuntu@22.04\n{BASE}", "{series: noble, default-base: ubuntu@24.04}")
    assert (merged["series"], merged["default-base"]) == ("noble", "ubuntu@22.04")


def test_offers_and_saas():
    offer = "applications: {apache2: {offers: {one: {endpoints: [a]}, two: {endpoints: [b]}}}}"
    merged = merge_texts(BASE, offer, "applications: {apache2: {offers: {two: }}}")
    assert set(merged["applications"]["apache2"]["offers"]) == {"one"}
    merged = merge_texts("saas: {pg: {url: a}}\nrelations: [[w:db, pg:db]]", "saas: {pg: , cr: {url: b}}")
    assert (set(merged["saas"]), merged["relations"]) == ({"cr"}, [])


def test_overlays_apply_in_order_and_a_further_document_is_one():
    texts = [BASE, *(f"applications: {{apache2: {{num_units: {count}}}}}" for count in (2, 3))]
    assert merge_texts(*texts)["applications"]["apache2"]["num_units"] == 3
    assert merge_texts("\n---\n".join(texts))["applications"]["apache2"]["num_units"] == 3


def test_merge_keys_and_anchors_stay_in_their_file():
    text = """
defaults: &wiki {charm: mediawiki, options: &options {debug: false, skin: vector}}
applications:
  one: {<<: *wiki, options: {<<: *options, name: mine}}
  two: *wiki
"""
    merged = merge_texts(text, "applications: {two: {options: {skin: other}}}")
    assert merged["applications"]["one"]["options"] == {"debug": False, "skin": "vector", "name": "mine"}
    assert merged["applications"]["two"]["options"] == {"debug": False, "skin": "other"}
    with pytest.raises(FileError, match="undefined alias"):
        merge_texts(text, "applications: {three: *wiki}")


def test_charm_paths_and_includes_start_at_their_file(tmp_path):
    from check.checker import load

    (tmp_path / "overlays").mkdir()
    (tmp_path / "overlays/intent.yaml").write_text("spines: 2\n")
    (tmp_path / "base.yaml").write_text("applications: {a: {charm: ./a.charm, options: {}}}")
    overlay = tmp_path / "overlays/o.yaml"
    overlay.write_text(
        "applications:\n  a: {charm: ../b.charm, options: {x: include-file://intent.yaml, y: include-base64://intent.yaml}}"
    )
    merged = load([tmp_path / "base.yaml", overlay]).data["applications"]["a"]
    assert merged["charm"] == str(tmp_path / "b.charm")
    assert merged["options"] == {"x": "spines: 2\n", "y": "c3BpbmVzOiAyCg=="}


def test_every_key_keeps_the_place_that_it_was_last_set_at():
    merged = merge_texts(BASE, "applications:\n  apache2:\n    options:\n      port: 81\n")
    options = merged["applications"]["apache2"]["options"]
    assert options.places["port"] == Place("1.yaml", 4)
    assert options.places["root"] == Place("0.yaml", 7)
    assert merged["relations"].places[1] == Place("0.yaml", 14)
