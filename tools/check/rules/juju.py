# SPDX-License-Identifier: Apache-2.0
"""Demands of the charms' metadata on a bundle of which Juju tells late in a deployment, or never.

Juju itself checks keys, places, machines and names before it deploys anything: `juju deploy --dry-run` says
what it finds, and no rule repeats it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from converge.shape import InvalidValue
from yamlfile.values import Map, Place

from check import releases
from check.facts import SETTINGS, of_all_tracks, own
from check.model import PLACEHOLDER, Application, Bundle, base_of, coerced
from check.options import classes
from check.rule import Wrong, listed, near, rule

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "secret": (str,),
    "boolean": (bool,),
    "int": (int,),
    "float": (int, float),
}
OPENSTACK = (
    *("keystone", "glance", "placement", "neutron-api", "neutron-api-plugin-ovn", "nova-cloud-controller"),
    *("nova-compute", "openstack-dashboard"),
)
OVN = ("ovn-central", "ovn-chassis")
RENAMED = {("roce-qos", "trust"): "trust-state"}
"""Options that this project's charms had by another name."""


@rule("base", "A bundle with this project's charms names its base, for which they are published.")
def base(bundle: Bundle) -> Iterator[Wrong]:
    place, ours = _base_place(bundle), bundle.of(*own())
    for application in bundle.applications.values():
        if not application.base:
            if not ours:  # Juju takes the base of each charm's channel
                return
            what = f"neither the bundle nor {application.name} names a base"
            yield bundle.data.place, what, "Write default-base: ubuntu@22.04/stable"
            return
        if application.charm in own():
            yield from _unpublished(application, place)
            yield from _packed(application)


def _packed(application: Application) -> Iterator[Wrong]:
    """Juju deploys a packed charm on the base in its manifest only; the file's name has it, too."""
    path = str(application.body.get("charm", ""))
    found = re.search(r"_(ubuntu@\d\d\.\d\d)-\w+\.charm$", path)
    if found and application.base and found[1] != application.base:
        what = f"{application.name} is packed for {found[1]}, and deployed on {application.base}"
        remedy = f"Write {application.base} in the file's name, or base: {found[1]}/stable"
        yield application.place("charm"), what, remedy


@rule("base-upstream", "Every upstream charm is known to run on the base; Charmhub may have more.", True)
def base_upstream(bundle: Bundle) -> Iterator[Wrong]:
    place = _base_place(bundle)
    for application in bundle.applications.values():
        known = application.facts
        if known and application.charm not in own() and application.track == known.track:
            yield from _unpublished(application, place)


def _base_place(bundle: Bundle) -> Place | None:
    return next((bundle.data.places[key] for key in ("default-base", "series") if key in bundle.data), None)


def _unpublished(application: Application, place: Place | None) -> Iterator[Wrong]:
    known = application.facts
    if known and known.bases and application.base and application.base not in known.bases:
        name = f"{application.charm} {application.channel}".rstrip()
        found = application.place("base") if "base" in application.body else place
        remedy = f"Write one of {listed(known.bases)}"
        if application.charm in own():
            what = f"{name} is not built for {application.base}"
        else:
            what = f"{name} is not known to run on {application.base}"
            remedy += f", or look at juju info {application.charm}"
        yield found or application.place("series"), what, remedy


@rule("machine-base", "A machine has the base of the applications on it; containers have their own.")
def machine_base(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for machine in sorted(bundle.hosts(application) if application.targets else ()):
            body = bundle.machines.get(machine)
            has = (base_of(body, "base") if isinstance(body, Map) else "") or bundle.base
            if application.base and has and has != application.base:
                what = f"{application.name} is of {application.base}, and machine {machine} of {has}"
                yield application.place("base"), what, f"Write base: {application.base} in machine {machine}"


@rule("charm-known", "Every charm is in the facts table; nothing is checked of others.", warning=True)
def charm_known(bundle: Bundle) -> Iterator[Wrong]:
    unknown = [each for each in bundle.applications.values() if each.facts is None]
    if unknown:
        # A track can be another charm of the same name, such as Vault's latest.
        charms = {
            f"{each.charm} {each.track if of_all_tracks(each.charm) else ''}".strip() for each in unknown
        }
        what = f"nothing is checked of {listed(each.name for each in unknown)}: "
        what += f"the facts table has no charm {listed(each or '(none)' for each in charms)}"
        yield unknown[0].place("charm"), what, "Derive the facts with tools/check/facts.py"


@rule("option-name", "Every option exists in the charm's channel.")
def option_name(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for name in application.section("options"):
            if application.facts and name not in application.facts.options:
                what = f"{application.charm} {application.channel}".rstrip() + f" has no option {name}"
                if name in SETTINGS:
                    what = f"{what}: {SETTINGS[name]}"
                renamed = RENAMED.get((application.charm, name))
                instead = f"Write {renamed}" if renamed else near(name, application.facts.options)
                yield application.place("options", name), what, instead


@rule("option-type", "Every option's value has the option's type.")
def option_type(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for name, value in application.section("options").items():
            kind = application.facts.options.get(name) if application.facts else None
            if kind is None or value is None:
                continue
            if not _fits(kind, coerced(kind, value)):
                what = f"{application.name}: {name} is of type {kind}, {value!r} is not"
                yield application.place("options", name), what, _as_type(kind, value)


@rule("option-value", "This project's charms accept the values of their options.")
def option_value(bundle: Bundle) -> Iterator[Wrong]:
    codes = classes()
    for application in bundle.of(*codes):
        kinds: Mapping[str, str] = application.facts.options if application.facts else {}
        given = {
            name.replace("-", "_"): value
            for name, value in ((name, application.option(name)) for name in application.section("options"))
            if name in kinds and kinds[name] != "secret" and _fits(kinds[name], value)
        }
        try:
            codes[application.charm](**given)
        except InvalidValue as error:
            what = f"{application.name}: {error.where} {error.shown} is not allowed"
            yield application.place("options", error.where), what, f"Write {error.allowed}"


def _fits(kind: str, value: Any) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _as_type(kind: str, value: Any) -> str:
    if kind in ("string", "secret"):
        if isinstance(value, dict | list):
            return f"Write '{json.dumps(value)}', in single quotes"
        return f'Write "{str(value).lower() if isinstance(value, bool) else value}", in quotes'
    return {"boolean": "Write true or false", "int": "Write a whole number"}.get(kind, "Write a number")


@rule("units", "Principals say how many units they have.")
def units(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        if application.facts and not application.facts.subordinate and application.count < 1:
            yield application.place(), f"{application.name} has no units", "Write num_units: 1"


@rule("subordinate-placement", "Subordinates have no units, places or constraints of their own.")
def subordinate_placement(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for key in ("num_units", "to", "constraints"):
            if application.facts and application.facts.subordinate and application.body.get(key):
                what = f"{application.name} is a subordinate and goes where its principal is"
                yield application.place(key), what, f"Remove {key}"


@rule("channel", "Every charm from Charmhub has an explicit channel.", warning=True)
def channel(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        if not application.local and application.facts and not application.track:
            what = f"{application.name} follows whatever Charmhub's default channel is"
            yield application.place("channel"), what, _channel(bundle, application)


def _channel(bundle: Bundle, application: Application) -> str:
    """The advice for a charm without a channel, by the cloud's release and the charm's base."""
    tracks = {
        **dict.fromkeys(OPENSTACK, _release(bundle) or releases.INCLUDED.get(application.base, "")),
        **dict.fromkeys(OVN, _ovn_track(bundle, application.base)),
    }
    fitting = [each.track for each in of_all_tracks(application.charm) if application.base in each.bases]
    track = tracks.get(application.charm, fitting[-1] if fitting else "")
    if not track:
        return f"Write channel: one that juju info {application.charm} lists for {application.base}"
    return f"Write channel: {track}/stable"


def _release(bundle: Bundle) -> str:
    """The track of most OpenStack charms, or else of the packages that most of them install."""
    charms = bundle.of(*OPENSTACK)
    tracks = [each.track for each in charms if each.track] or [
        releases.installed(str(each.option("openstack-origin") or ""), each.base) for each in charms
    ]
    return max(tracks, key=tracks.count, default="")


def _ovn_track(bundle: Bundle, base: str) -> str:
    """OVN's track for the cloud's release; empty if that is not known."""
    track = _release(bundle) or releases.INCLUDED.get(base, "")
    return {**releases.OLDER, **releases.OVN}.get(track, "")


@rule("channel-openstack", "All OpenStack charms are of one track, and install that release.")
def channel_openstack(bundle: Bundle) -> Iterator[Wrong]:
    track = _release(bundle)
    for application in bundle.of(*OPENSTACK):
        if application.track not in ("", track):
            what = f"{application.name} is of track {application.track}, the others of {track}"
            yield application.place("channel"), what, f"Write channel: {track}/stable"
        found = str(application.option("openstack-origin") or "")
        installed = releases.installed(found, application.base)
        wanted = releases.origin(application.track, application.base)
        what = ""
        if not releases.is_of(found, application.base):
            what = (
                f"{application.name} on {application.base} does not take {found}, which is another Ubuntu's"
            )
        elif installed not in ("", application.track):
            what = f"{application.name} of track {application.track} does not install {found}"
        if wanted and what:
            yield application.place("options", "openstack-origin"), what, f"Write {wanted}"


@rule("channel-ovn", "The OVN charms are of the track that belongs to OpenStack's.", warning=True)
def channel_ovn(bundle: Bundle) -> Iterator[Wrong]:
    track = _release(bundle)
    wanted = releases.OVN.get(track)
    for application in bundle.of(*OVN):
        if wanted and application.track not in ("", wanted):
            what = f"{application.name} is of track {application.track}, OpenStack {track} goes with {wanted}"
            yield application.place("channel"), what, f"Write channel: {wanted}/stable"


@rule("overlay-base", "No overlay has a default-base: Juju takes the base's, and says nothing.", warning=True)
def overlay_base(bundle: Bundle) -> Iterator[Wrong]:
    for part in bundle.documents[1:]:
        if "default-base" in part.data:
            yield part.data.places["default-base"], "Juju does not merge default-base", "Write it in the base"


@rule("placeholder", "No option still has the placeholder to-be-set of upstream's bundles.", warning=True)
def placeholder(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for option, value in application.section("options").items():
            if PLACEHOLDER in re.split(r"[\s,:]+", str(value)):
                what = f"{application.name}: {option} still has {PLACEHOLDER}"
                yield application.place("options", option), what, "Write your own value"
