# SPDX-License-Identifier: Apache-2.0
"""The clouds of adopt.yaml as models that Juju's client tells of, and what `adopt` prints of them."""

import shlex
from functools import cache
from pathlib import Path

import yaml
from check.merge import Part, merge, parse, parts
from check.model import Bundle
from lab.juju import deployed
from operate import running
from operate.adopt import text
from operate.adopt.adoption import adoption
from operate.client import Juju

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
CLOUDS = yaml.safe_load((Path(__file__).parent / "adopt.yaml").read_text())
OURS = dict.fromkeys(("nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric"))
VFS = "enp63s0f0:8 enp63s0f1:8"
UNKNOWN = ("unset", "auto", "scripted")
"""Clouds whose ovn-chassis does not say how many VFs there are."""
ADOPTABLE = sorted(
    set(CLOUDS) - {*UNKNOWN, "malformed", "no-offload", "no-network", "without-neutrons-option"}
)

ITS_OWN = {"focal"}
"""Clouds in which the checker finds an error that no overlay of ours brings."""


def cloud(name, version="3.6.9", **said):
    """Return one of CLOUDS as Juju's client knows it, from a controller of this release."""
    overlays = [yaml.safe_dump({"applications": OURS}), yaml.safe_dump(CLOUDS[name])]
    found = [*parts([BUNDLE]), *(Part(BUNDLE, each) for text in overlays for each in parse(text, name))]
    return deployed.recorded(Bundle(merge(found), found), version, said)


@cache
def asked(name, version="3.6.9"):
    """Return the command's output for one of CLOUDS, and its calls of Juju's client."""
    return printed(cloud(name, version))


def client(model):
    """A model as a user reads it who may only read, and the calls of Juju's client."""
    answering = deployed.Here(model, access="read")

    def run(*call, shown=False):
        assert not shown
        return answering(*call)

    return running.read(Juju(run=run)), answering.known["calls"]


def printed(model):
    """Return the command's output for a model, and the calls of Juju's client."""
    found, calls = client(model)
    return text.text(found.name, adoption(found)), calls


def told(name):
    """Return the command's output for one of CLOUDS."""
    return asked(name)[0]


def section(said, title):
    """The lines under a title, which ends at the next one."""
    _, _, rest = said.partition(f"{title}")
    return rest.partition(":\n\n")[2].split("\n\n")[0].splitlines()


def commands(said, title="Steps, in this order"):
    """The commands under a title, as a shell splits them."""
    lines = "\n".join(line[5:] for line in section(said, title) if line.startswith("     "))
    return [shlex.split(line) for line in lines.replace("\\\n", "").splitlines()]


def overlay(said):
    """The overlay that it prints."""
    return "\n".join(section(said, "The overlay")) + "\n"


def on_the_model(said, name):
    """The exported model with the overlay on it."""
    documents = [
        Part(Path("x.yaml"), each)
        for text in (cloud(name)["export"], overlay(said))
        for each in parse(text, "x")
    ]
    return Bundle(merge(documents), documents)
