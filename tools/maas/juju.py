# SPDX-License-Identifier: Apache-2.0
"""Juju on this MAAS: cloud, credential, controller, model and spaces, as calls of Juju's client.

What is there already is left as it is. The API key goes through a file of mode 0600 outside of the working
directory, never through argv.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import yaml
from converge import Disruption, Finding, Plan, Severity, Step
from maas.sitefile.model import Secret, Site
from operate import private
from operate.client import Juju, mapping
from yamlfile.values import FileError

FILE = "{file}"
"""Stands for the path of a call's file among its words."""
KEY = "$KEY"
"""Stands for the API key in the content of a file."""
CREDENTIAL = "admin"


class Names(NamedTuple):
    """The names that the operator may choose: cloud, controller, model, tag of the controller's machine."""

    cloud: str
    controller: str
    model: str
    tag: str


@dataclass(frozen=True)
class Call:
    """One call of the client; `content` is what its file holds, with the API key at KEY."""

    words: tuple[str, ...]
    content: str = ""
    key: Secret | None = None

    def run(self, juju: Juju) -> None:
        if not self.content:
            juju.call(*self.words, shown=True)
            return
        text = self.content.replace(KEY, self.key.read() if self.key else "")
        with private.passing(text) as path:
            juju.call(*(path if word == FILE else word for word in self.words), shown=True)

    def shell(self) -> Iterator[str]:
        """The same for a shell, which reads the key from its file, and removes the call's file at its end."""
        if not self.content:
            yield shlex.join(["juju", *self.words])
            return
        key = f"$(cat {self.key.removeprefix('file:')})" if self.key else ""
        words = " ".join('"$file"' if word == FILE else shlex.quote(word) for word in self.words)
        yield f"(umask 077; file=$(mktemp -p {shlex.quote(str(private.folder()))}) || exit"
        yield """trap 'rm -f "$file"' EXIT; trap 'exit 1' HUP INT TERM"""
        yield f'cat > "$file" << EOF\n{self.content.replace(KEY, key)}EOF\njuju {words})'


class ClientState(NamedTuple):
    """The state of Juju's client: names, and the subnets of each space of the model."""

    clouds: Collection[str]
    credentials: Collection[str]
    controllers: Collection[str]
    models: Collection[str]
    spaces: Mapping[str, Collection[str]]


def observe(juju: Juju, names: Names) -> ClientState:
    """Ask the client; what is in a controller only where there is one of that name."""
    clouds = mapping(juju.data("clouds", "--client"))
    client = mapping(juju.data("credentials", "--client").get("client-credentials"))
    credentials = mapping(mapping(client.get(names.cloud)).get("cloud-credentials"))
    controllers = mapping(juju.data("controllers").get("controllers"))
    models: list[str] = []
    spaces: dict[str, Collection[str]] = {}
    if names.controller in controllers:
        answer = juju.data("models", "-c", names.controller)
        models = [model["short-name"] for model in answer.get("models") or ()]
    if names.model in models:
        answer = juju.data("spaces", "-m", f"{names.controller}:{names.model}")
        spaces = {each["name"]: mapping(each.get("subnets")) for each in answer.get("spaces") or ()}
    return ClientState(clouds, credentials, controllers, models, spaces)


def plan(site: Site, names: Names, found: ClientState) -> Plan[Juju]:
    """The calls that are missing, in order.

    Raises FileError if the site has no machine for the controller.
    """
    if not any(machine.tag == names.tag for machine in site.machines.values()):
        raise FileError(f"No machine of the site has tag {names.tag}: name the controller's tag with --tag")
    steps: list[Step[Juju]] = []
    if names.cloud not in found.clouds:
        cloud = {"type": "maas", "auth-types": ["oauth1"], "endpoint": site.maas}
        words = ("add-cloud", "--client", names.cloud, "-f", FILE)
        text = yaml.safe_dump({"clouds": {names.cloud: cloud}}, sort_keys=False)
        steps.append(_step(Call(words, text), f"add cloud {names.cloud}"))
    if CREDENTIAL not in found.credentials:
        credential = {"auth-type": "oauth1", "maas-oauth": KEY}
        words = ("add-credential", "--client", names.cloud, "-f", FILE)
        text = yaml.safe_dump({"credentials": {names.cloud: {CREDENTIAL: credential}}}, sort_keys=False)
        steps.append(_step(Call(words, text, site.api_key), f"add the credential of cloud {names.cloud}"))
    if names.controller not in found.controllers:
        words = ("bootstrap", names.cloud, names.controller, f"--bootstrap-base={site.base}")
        words += ("--constraints", f"tags={names.tag}")
        steps.append(_step(Call(words), f"bootstrap controller {names.controller}"))
    if names.model not in found.models:
        words = ("add-model", "-c", names.controller, names.model, "--config", f"default-base={site.base}")
        steps.append(_step(Call(words), f"add model {names.model}"))
    if any(_missing(site, found)):
        words = ("reload-spaces", "-m", f"{names.controller}:{names.model}")
        steps.append(_step(Call(words), "read the spaces from MAAS"))
    return Plan(tuple(steps))


def verify(site: Site, found: ClientState) -> list[Finding]:
    """Spaces and subnets of the site that Juju does not know."""
    remedy = "run pipx run tox -e maas -- apply SITE, then this again"
    return [
        Finding(Severity.BLOCKED, space, f"Juju does not know its subnet {site.networks[space].cidr}", remedy)
        for space in _missing(site, found)
    ]


def _missing(site: Site, found: ClientState) -> Iterator[str]:
    for space, network in site.networks.items():
        if network.cidr not in found.spaces.get(space.lower(), ()):  # as Juju reads them from MAAS
            yield space


def _step(call: Call, what: str) -> Step[Juju]:
    return Step(call.words[0], what, "there is none", Disruption.NONE, call)
