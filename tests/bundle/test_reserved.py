# SPDX-License-Identifier: Apache-2.0
"""Each kind of name that Juju keeps for itself is found in a charm that declares it, with the reason."""

from copy import deepcopy

import pytest
from bundle.declared import CHARMS
from bundle.reserved import reserved

ROCE = next(charm for charm in CHARMS if charm.name == "roce-qos").charmcraft
FABRIC = next(charm for charm in CHARMS if charm.name == "cumulus-fabric").charmcraft
OWN = "juju, and whatever begins with juju-, is Juju's own"
SPELLING = "a name is words of lower-case letters and digits joined by dashes, and begins with a letter"


def declaring(charm, *path, value=None):
    """The charm with one more name in it."""
    changed = deepcopy(charm)
    here = changed
    for key in path[:-1]:
        here = here.setdefault(key, {})
    here[path[-1]] = {} if value is None else value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (
            ["config", "options", "trust"],
            {"type": "string", "default": "dscp"},
            "option trust: Juju keeps that name for a setting of its own (juju trust), "
            "and hands the charm nothing of it",
        ),
        (["config", "options", "trust=mode"], {}, f"option trust=mode: {SPELLING}"),
        (["actions", "juju"], {}, f"action juju: {OWN}"),
        (["actions", "juju-exec"], {}, f"action juju-exec: {OWN}"),
        (["actions", "Verify"], {}, f"action Verify: {SPELLING}"),
        (["actions", "show-qos-"], {}, f"action show-qos-: {SPELLING}"),
        (["actions", "import"], {}, "action import: charmcraft refuses Python's keywords"),
        (
            ["actions", "plan", "params", "port.name"],
            {"type": "string"},
            f"parameter of plan, port.name: {SPELLING}",
        ),
        (["provides", "juju-qos"], {"interface": "qos"}, f"provides endpoint juju-qos: {OWN}"),
        (["provides", "juju-info"], {"interface": "qos"}, f"provides endpoint juju-info: {OWN}"),
        (["requires", "juju"], {"interface": "qos"}, f"requires endpoint juju: {OWN}"),
        (["peers", "juju-peer"], {"interface": "qos"}, f"peers endpoint juju-peer: {OWN}"),
        (["provides", "info"], {"interface": "juju-info"}, f"interface juju-info of info: {OWN}"),
        (["peers", "peer"], {"interface": "juju"}, f"interface juju of peer: {OWN}"),
        (["peers", "Peer"], {"interface": "qos"}, f"peers endpoint Peer: {SPELLING}"),
        (
            ["provides", "fabric"],
            {"interface": "qos"},
            "requires endpoint fabric: another role has an endpoint of this name",
        ),
        (
            ["extra-bindings", "fabric"],
            {},
            "binding fabric: it is an endpoint, which can be bound without this",
        ),
        (
            ["extra-bindings", "juju-info"],
            {},
            "binding juju-info: it is an endpoint, which can be bound without this",
        ),
        (["extra-bindings", "rack 1"], {}, f"binding rack 1: {SPELLING}"),
        (["resources", "firmware=1"], {"type": "file"}, f"resource firmware=1: {SPELLING}"),
        (
            ["storage", "images-2"],
            {"type": "filesystem"},
            f"storage images-2: {SPELLING}; a word of digits alone would be the number of an instance",
        ),
    ],
    ids=lambda value: "/".join(value) if isinstance(value, list) else "",
)
def test_a_name_of_jujus_is_found(path, value, says):
    assert reserved(ROCE) == []
    found = reserved(declaring(ROCE, *path, value=value))
    assert says in found
    # `juju-info` among provides stands in requires, too.
    assert len(found) == (2 if path == ["provides", "juju-info"] else 1)


def test_only_a_subordinate_may_require_juju_info():
    principal = {"interface": "juju-info", "scope": "container"}
    assert reserved(declaring(FABRIC, "requires", "juju-info", value=principal)) == [
        f"requires endpoint juju-info: {OWN}"
    ]
    assert reserved(declaring(ROCE, "requires", "juju-other", value=principal)) == []


def test_a_file_that_declares_nothing_has_no_wrong_names():
    assert reserved({"name": "empty", "actions": None, "config": None, "requires": None}) == []
