# SPDX-License-Identifier: Apache-2.0
"""Each charm's charmcraft.yaml and pyproject.toml say what its code does."""

import re
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from bundle.declared import CHARMS, JSON_TYPES, JUJU_TYPES, LIB, ROOT, Charm, fields
from bundle.reserved import reserved
from check import facts
from import_graph import imports, modules

PLATFORMS = [f"ubuntu@{base}:{machine}" for base in ("22.04", "24.04") for machine in ("amd64", "arm64")]
PINS = ROOT / "tests/requirements/guest.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
ENDPOINTS = Path(__file__).with_name("endpoints.yaml")
"""The relations of each charm as they were released."""
SHARED_ACTIONS = {"plan", "verify"}
PACKAGES = {"yaml": "PyYAML", "prometheus_client": "prometheus-client"}
"""Packages that are imported by another name than they are installed by."""

pytestmark = pytest.mark.parametrize("charm", CHARMS, ids=lambda charm: charm.name)


def options(charm: Charm) -> dict:
    return charm.charmcraft.get("config", {}).get("options", {})


def actions(charm: Charm) -> dict:
    return charm.charmcraft.get("actions", {})


def test_the_charm_has_its_files(charm):
    wanted = ["README.md", "icon.svg", "pyproject.toml", "src/charm.py", "src/config.py"]
    assert [name for name in wanted if not (charm.directory / name).is_file()] == []


def test_name_platforms_and_juju(charm):
    assert charm.charmcraft["name"] == charm.name
    assert list(charm.charmcraft["platforms"]) == PLATFORMS
    assert charm.charmcraft["assumes"] == ["juju >= 3.6"]
    assert {"base", "bases", "series"} & set(charm.charmcraft) == set()


def test_its_version_is_the_newest_one_of_the_changelog(charm):
    versions = re.findall(r"^## (\d+\.\d+\.\d+)$", CHANGELOG.read_text(), flags=re.MULTILINE)
    assert versions == sorted(versions, key=lambda text: [*map(int, text.split("."))], reverse=True)
    text = (charm.directory / "pyproject.toml").read_text()
    assert re.findall(r'^version = "(.+)"$', text, flags=re.MULTILINE) == versions[:1]


def test_no_name_is_one_of_jujus(charm):
    assert reserved(charm.charmcraft) == []


def test_its_relations_are_those_of_the_first_release(charm):
    found = {name: asdict(endpoint) for name, endpoint in facts.own()[charm.name].endpoints.items()}
    recorded = yaml.safe_load(ENDPOINTS.read_text()).get(charm.name, {})
    assert found == recorded, f"{ENDPOINTS.name} says what this costs operators"


def test_every_endpoint_states_whether_it_is_optional(charm):
    endpoints = {**charm.charmcraft.get("requires", {}), **charm.charmcraft.get("provides", {})}
    assert [name for name, endpoint in endpoints.items() if "optional" not in endpoint] == []


def test_a_subordinate_relates_to_its_principal_through_juju_info(charm):
    if not charm.charmcraft.get("subordinate"):
        return
    assert {"interface": "juju-info", "scope": "container", "optional": False} in (
        charm.charmcraft["requires"].values()
    )


def test_options_and_their_types_and_defaults_are_those_of_the_code(charm):
    declared = {name: (option["type"], option.get("default")) for name, option in options(charm).items()}
    coded = {name: field[:2] for name, field in fields(charm.config.Options, JUJU_TYPES).items()}
    assert declared == coded


def test_option_descriptions_name_every_allowed_word(charm):
    silent = {
        (name, word)
        for name, (_, _, words) in fields(charm.config.Options, JUJU_TYPES).items()
        for word in words
        if f'"{word}"' not in options(charm)[name]["description"]
    }
    assert silent == set()


def test_every_option_explains_itself(charm):
    assert [name for name, option in options(charm).items() if not option["description"].strip()] == []


def test_the_readme_names_every_action(charm):
    literals = set(re.findall("`([^`\n]+)`", (charm.directory / "README.md").read_text()))
    assert set(actions(charm)) - literals == set()


def test_every_action_is_handled_and_every_handler_has_its_action(charm):
    assert set(actions(charm)) == set(charm.handlers)
    assert set(actions(charm)) >= SHARED_ACTIONS


def test_action_parameters_are_those_of_the_code(charm):
    for name, action in actions(charm).items():
        declared = {
            parameter: (schema["type"], schema.get("default"), tuple(schema.get("enum", ())))
            for parameter, schema in action.get("params", {}).items()
        }
        coded = fields(charm.handlers[name], JSON_TYPES)
        for parameter in action.get("required", ()):  # Juju takes no default for it; the code refuses its own
            kind, default, allowed = coded[parameter]
            coded[parameter] = kind, default or None, allowed
        assert declared == coded, name


def test_actions_refuse_unknown_parameters_and_explain_themselves(charm):
    for name, action in actions(charm).items():
        assert action["additionalProperties"] is False, name
        assert action["description"].strip(), name
        assert all(schema["description"].strip() for schema in action.get("params", {}).values()), name


def test_dependencies_are_exact_and_the_versions_that_the_tests_run(charm):
    text = (charm.directory / "pyproject.toml").read_text()
    (listed,) = re.findall(r"^dependencies = \[(.*?)^\]", text, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r'^\s*"', listed, flags=re.MULTILINE)) == len(charm.dependencies)
    tested = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", PINS.read_text(), flags=re.MULTILINE))
    pinned = {name.lower(): version for name, version in charm.dependencies.items()}
    assert pinned.items() <= tested.items()


def test_dependencies_are_the_packages_that_are_imported(charm):
    known = {"_typeshed", *sys.stdlib_module_names}
    own = {name.partition(".")[0] for name in (*LIB, *modules(charm.directory / "src"))}
    outside = {found.root for module in charm.modules for found in imports(module)} - known - own
    assert {PACKAGES.get(name, name) for name in outside} == set(charm.dependencies)
