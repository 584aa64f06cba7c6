# SPDX-License-Identifier: Apache-2.0
"""A deployed bundle as Juju tells it: the answers to `status`, `config` and `export-bundle` of such a model.

Source: juju/juju 3.6, cmd/juju/status/formatted.go, cmd/juju/application/config.go and
apiserver/facades/client/bundle/bundle.go; 4.0 prints no `sla`, and may export no bundle
(issue 19759).
"""

import yaml
from operate.process import Output

from lab.juju import cli

DEFAULTS = {"ovn-chassis": {"sriov-numvfs": "auto", "enable-hardware-offload": False, "enable-dpdk": False}}
"""Defaults of options that matter here (charm-ovn-chassis, config.yaml of 22.03 and 24.03)."""
WHEN = {"since": "20 Nov 2026 09:00:00Z"}


class Here(cli.Client):
    """The client of one model in this process; call it as a Process."""

    def __init__(self, model, **known):
        given = {"calls": [], "models": {"c:m": model}, "current": "c:m", **known}
        super().__init__({**cli.EMPTY, **given})

    def __call__(self, command, given, seconds, *, shown=False):
        out, error, status = cli.answer(self, command[1:])
        return Output(status, out, error)


def subordinates(principal, charms, count):
    """Applications of a model's status, with a unit of each charm on each of so many principals."""
    units = {
        f"{principal}/{number}": {"subordinates": {f"{name}/{number}": {} for name in charms}}
        for number in range(count)
    }
    found = {name: {"charm-name": name, "subordinate-to": [principal]} for name in charms}
    return {**found, principal: {"charm-name": principal, "units": units}}


def recorded(bundle, version="3.6.9", said=None):
    """The model's part of :mod:`lab.juju.cli`'s state.

    Args:
        bundle: the merged one, as the checker reads it.
        version: of the controller's agents.
        said: the message of every unit of an application.

    """
    model = {"name": "openstack", "type": "iaas", "controller": "maas-controller", "cloud": "maas"}
    model |= {"region": "default", "version": version, "model-status": {"current": "available", **WHEN}}
    if version.startswith("3"):
        model["sla"] = "unsupported"
    remote = bundle.data.section("saas")
    status = {
        "model": model,
        "machines": {name: _machine(bundle, name) for name in bundle.machines},
        "applications": {name: _application(bundle, each) for name, each in bundle.applications.items()},
        "application-endpoints": {name: {"url": body["url"], **_current()} for name, body in remote.items()},
        "storage": {},
        "controller": {"timestamp": "10:00:00Z"},
    }
    _with_subordinates(bundle, status["applications"], said or {})
    config = {name: dict(each.section("options")) for name, each in bundle.applications.items()}
    defaults = {name: DEFAULTS.get(each.charm, {}) for name, each in bundle.applications.items()}
    export = _export(bundle) if version.startswith("3") else None
    return {"status": status, "config": config, "defaults": defaults, "export": export}


def _current(message=""):
    return {"application-status": {"current": "active", "message": message, **WHEN}}


def _machine(bundle, name):
    constraints = bundle.machine_constraints(name)
    arch = constraints.pop("arch", "amd64")
    return {
        "juju-status": {"current": "started", **WHEN},
        "hostname": f"node{name}",
        "instance-id": f"node{name}",
        "base": {"name": "ubuntu", "channel": "22.04"},
        "containers": {},
        "constraints": " ".join(f"{key}={value}" for key, value in constraints.items()),
        "hardware": f"arch={arch} cores=48 mem=262144M tags=virtual availability-zone=default",
    }


def _application(bundle, application):
    name, channel = application.base.split("@")
    found = {
        "charm": f"local:{application.charm}-0" if application.local else application.charm,
        "base": {"name": name, "channel": channel},
        "charm-origin": "local" if application.local else "charmhub",
        "charm-name": application.charm,
        "charm-rev": 0 if application.local else 100,
        "exposed": False,
        **_current(),
        "relations": _relations(bundle, application),
        "endpoint-bindings": _bindings(application),
    }
    if not application.local:
        found["charm-channel"] = application.channel
    if application.facts and application.facts.subordinate:
        found["subordinate-to"] = sorted(_principals(bundle, application))
    else:
        found["units"] = {
            f"{application.name}/{number}": {
                "machine": place,
                "workload-status": {"current": "active", **WHEN},
            }
            for number, place in enumerate(_places(application))
        }
    return found


def _with_subordinates(bundle, applications, said):
    """Their units are listed with those of their principals."""
    for name, each in bundle.applications.items():
        message = {"message": said[name]} if name in said else {}
        principals = _principals(bundle, each) if each.facts and each.facts.subordinate else ()
        hosts = [
            unit for other in sorted(principals) for unit in applications[other].get("units", {}).values()
        ]
        for number, unit in enumerate(hosts):
            mine = {"workload-status": {"current": "active", **message, **WHEN}}
            unit.setdefault("subordinates", {})[f"{name}/{number}"] = mine


def _places(application):
    """`lxd:2` is a container of its own on machine 2."""
    for number, (target, _) in enumerate(application.targets):
        kind, colon, machine = target.rpartition(":")
        yield f"{machine}/{kind}/{number}" if colon else machine


def _principals(bundle, application):
    ends = [name for name, each in application.facts.endpoints.items() if each.scope == "container"]
    return {each.name for end in ends for each in bundle.related(application, end)}


def _bindings(application):
    known = application.facts.bindable if application.facts else {""}
    return {name: application.space(name) or "alpha" for name in known}


def _relations(bundle, application):
    found = {}
    for relation in bundle.relations:
        for end, other in (relation.ends, relation.ends[::-1]):
            if end.application is application:
                known = end.facts or other.facts
                scopes = {each.facts.scope for each in relation.ends if each.facts}
                told = {
                    "related-application": other.application.name,
                    "interface": known.interface,
                    "scope": "container" if "container" in scopes else "global",
                }
                if told not in found.setdefault(end.endpoint, []):
                    found[end.endpoint].append(told)
    for ends, _ in bundle.written:
        for end, other in (ends, ends[::-1]):
            name, _, endpoint = end.partition(":")
            if name == application.name and other.partition(":")[0] in bundle.data.section("saas"):
                interface = application.facts.endpoints[endpoint].interface
                found.setdefault(endpoint, []).append(
                    {
                        "related-application": other.partition(":")[0],
                        "interface": interface,
                        "scope": "global",
                    }
                )
    return found


def _export(bundle):
    """Print as `export-bundle` does: options that are set, charms by name, relations with both endpoints."""
    applications = {}
    for name, each in bundle.applications.items():
        body = {key: value for key, value in each.body.items() if key not in ("charm", "channel", "series")}
        body["charm"] = f"local:{each.charm}-0" if each.local else each.charm
        if not each.local:
            body |= {"channel": each.channel, "revision": 100}
        applications[name] = body
    remote = bundle.data.section("saas")
    document = {
        "default-base": "ubuntu@22.04/stable",
        **({"saas": remote} if remote else {}),
        "applications": applications,
        "machines": bundle.machines,
        "relations": [ends for ends, _ in bundle.written],
    }
    return yaml.safe_dump(_plain(document), sort_keys=False)


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value
