# SPDX-License-Identifier: Apache-2.0
"""Spaces and machines: bindings, what a machine must reach, what a reboot takes with it."""

from collections.abc import Iterator

from maas.sitefile.model import BASES, Site, Tag

from check.model import Application, Bundle, words
from check.rule import Wrong, listed, near, rule, site_rule

QUORUM = ("mysql-innodb-cluster", "ovn-central")
APIS = ("keystone", "glance", "placement", "neutron-api", "nova-cloud-controller", "openstack-dashboard")


ALPHA = "alpha"
"""The space that Juju has of its own: subnets that no other space has, and endpoints that nobody bound."""


def gateway_space(bundle: Bundle) -> str:
    """The space with the default gateway, which the bundle's `variables: reach-gateway: spaces=…` names."""
    return str(bundle.data.section("variables").get("reach-gateway", "")).rpartition("=")[2]


@rule("binding-name", "Bindings name endpoints or extra bindings of the charm.")
def binding_name(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for name in application.section("bindings"):
            if application.facts and name not in application.facts.bindable:
                what = (
                    f"{application.charm} {application.channel}".rstrip()
                    + f" has nothing to bind named {name}"
                )
                yield application.place("bindings", name), what, near(name, application.facts.bindable - {""})


@rule("binding-database", "A database and its routers meet in one space: both ends of db-router are there.")
def binding_database(bundle: Bundle) -> Iterator[Wrong]:
    # shared-db may be in any space: the router is on its user's machine, and answers on 127.0.0.1.
    for router in bundle.of("mysql-router"):
        for database in bundle.related(router, "db-router"):
            wanted, found = router.space("db-router"), database.space("db-router")
            if found and wanted and found != wanted:
                what = f"{database.name}: db-router is in {found}, not in {wanted}"
                yield database.place("bindings", "db-router"), what, f"Bind db-router to {wanted}"


@rule(
    "binding-data", "An offloading ovn-chassis binds data: else Geneve takes its host's default space.", True
)
def binding_data(bundle: Bundle) -> Iterator[Wrong]:
    one = len({space for each in bundle.applications.values() for space in each.spaces}) < 2
    for application in () if one else bundle.offloading("ovn-chassis"):
        hosts = {each.space("") for each in bundle.related(application, "nova-compute")}
        if "data" not in application.section("bindings") and application.space("") in hosts:
            yield (
                application.place("bindings"),
                f"{application.name} binds no data",
                "Write data: overlay-space",
            )


@rule("machine-spaces", "A machine is in every space to which its units are bound, also those in containers.")
def machine_spaces(bundle: Bundle) -> Iterator[Wrong]:
    for machine in bundle.machines:
        if "spaces" not in bundle.machine_constraints(machine):
            continue
        has = words(bundle.machine_constraints(machine)["spaces"]) | {ALPHA}
        for application, container in bundle.on_machine(machine):
            asked = words(application.constraints.get("spaces") if container else "")
            extra = {space for space in asked if not space.startswith("^")}
            for space in sorted((application.spaces | extra) - has):
                what = f"machine {machine} is not in {space}, which {application.name} is bound to"
                instead = f"Write spaces={','.join(sorted(has - {ALPHA} | {space}))}"
                yield bundle.machines.places[machine], what, instead


@rule(
    "container-gateway",
    "A container is bound or constrained to the space of the default gateway, which reach-gateway names.",
)
def container_gateway(bundle: Bundle) -> Iterator[Wrong]:
    space = gateway_space(bundle)
    for application in bundle.applications.values() if space else ():
        inside = any(unit.container for unit in bundle.units(application))
        if not inside or (application.facts and application.facts.subordinate):
            continue
        reached = application.spaces | words(application.constraints.get("spaces"))
        if application.spaces and space not in reached:
            what = f"the containers of {application.name} have no way out: none of their spaces is {space}"
            yield application.place(), what, f"Write constraints: spaces={space}"


@rule("quorum", "MySQL and OVN have three units, or a larger odd number, each on a host of its own.")
def quorum(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of(*QUORUM):
        machines = [unit.machine for unit in bundle.units(application)]
        if application.count < 3:
            what = f"{application.name} has {application.count} units and cannot lose one"
            yield application.place("num_units"), what, "Write num_units: 3"
        elif application.count % 2 == 0:
            fewer, more = application.count - 1, application.count + 1
            what = f"{application.name} has {application.count} units and can lose no more than {fewer} could"
            yield application.place("num_units"), what, f"Write num_units: {fewer} or {more}"
        elif len(set(machines)) < len(machines):
            what = f"{application.name} has several units on one host"
            yield application.place("to"), what, "Place each unit on another machine"


@rule("virtual-ip", "API charms of several units have a virtual IP and the hacluster that moves it.")
def virtual_ip(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of(*APIS):
        if (
            application.count > 1
            and not application.option("vip")
            and application.option("dns-ha") is not True
        ):
            what = f"{application.name} has {application.count} units and no virtual IP"
            yield (
                application.place("num_units"),
                what,
                "Write vip: an unused address of each space it is bound to",
            )
        elif application.count > 1 and not bundle.related(application, "ha"):
            what = f"nothing moves the virtual IP of {application.name}"
            yield application.place("options", "vip"), what, f"Relate {application.name}:ha to a hacluster:ha"


@rule("compute-tag", "Machines of one offloading nova-compute are chosen by one MAAS tag.", warning=True)
def compute_tag(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute") if bundle.offloads else ():
        tags = {unit.machine: tags_of(bundle, unit.machine) for unit in bundle.units(application)}
        every = [tag for own in tags.values() for tag in sorted(own)]
        most = max(every, key=every.count, default="")
        for machine, own in tags.items():
            place, name = bundle.machines.places[machine], application.name
            if not own:
                what = f"machine {machine} runs {name}, and any machine will do for it"
                yield place, what, "Write constraints: tags=compute_sriov …"
            elif most not in own:
                what = f"machine {machine} is chosen by {listed(own)}, and others of {name} by {most}"
                yield place, what, f"Give all the same tag, such as {most}"


def tags_of(bundle: Bundle, machine: str) -> set[str]:
    """The MAAS tags that a machine is chosen by; a leading ^ excludes one."""
    return {tag for tag in words(bundle.machine_constraints(machine).get("tags")) if not tag.startswith("^")}


def site_tags(bundle: Bundle, site: Site, application: Application) -> list[Tag]:
    """The site's tags by which the machines of an application are chosen."""
    names = set[str]().union(*(tags_of(bundle, unit.machine) for unit in bundle.units(application)))
    return [tag for name, tag in site.tags.items() if name in names]


SEEN = "See that MAAS has it"
"""The advice for a name that only the site file lacks: it describes a part of a MAAS."""


@site_rule(
    "site-tag", "The site file has every tag by which machines are chosen; MAAS may have others.", True
)
def site_tag(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for machine in bundle.machines:
        for tag in sorted(tags_of(bundle, machine) - set(site.tags)):
            what = f"machine {machine} is chosen by tag {tag}, which the site file does not have"
            yield bundle.machines.places[machine], what, near(tag, site.tags, SEEN)


@site_rule("site-space", "The site file has every space; MAAS may have others.", True)
def site_space(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.applications.values():
        for name, space in application.section("bindings").items():
            if space and space not in (ALPHA, *site.networks):
                what = f"{application.name} is bound to {space}, which the site file does not have"
                yield application.place("bindings", name), what, near(str(space), site.networks, SEEN)
    for machine in bundle.machines:
        spaces = {
            space.removeprefix("^") for space in words(bundle.machine_constraints(machine).get("spaces"))
        }
        for space in sorted(spaces - {ALPHA, *site.networks}):
            what = f"machine {machine} is chosen by space {space}, which the site file does not have"
            yield bundle.machines.places[machine], what, near(space, site.networks, SEEN)


@site_rule("site-base", "MAAS has been prepared for the bundle's base, which Juju asks it for.")
def site_base(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    if bundle.base in BASES and bundle.base != site.base:
        place = next(bundle.data.places[key] for key in ("default-base", "series") if key in bundle.data)
        what = f"the bundle is for {bundle.base}, and the site file for {site.base}"
        yield place, what, f"Write base: {bundle.base} in the site file, then apply it again"


@site_rule(
    "hwe-kernel", "Compute nodes on jammy have the HWE kernel: 5.15 may not show VF-LAG.", warning=True
)
def hwe_kernel(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute"):
        for machine in sorted({unit.machine for unit in bundle.units(application)}):
            for tag in tags_of(bundle, machine) & set(site.tags):
                if application.base == "ubuntu@22.04" and site.tags[tag].hwe_kernel in (
                    "",
                    "ga-22.04",
                ):
                    what = f"machine {machine} (tag {tag}) gets kernel 5.15, which may not show VF-LAG"
                    yield (
                        bundle.machines.places[machine],
                        what,
                        "Write hwe-kernel: hwe-22.04 in the site's tag",
                    )


@rule(
    "reboot-vault",
    "A reboot of a compute node takes no Vault with it: it would come back sealed.",
    warning=True,
)
def reboot_vault(bundle: Bundle) -> Iterator[Wrong]:
    rebooting = {
        unit.machine
        for application in bundle.of("sriov-switchdev", "nic-firmware")
        for unit in bundle.units(application)
    }
    for application in bundle.of("vault"):
        for number, unit in enumerate(bundle.units(application)):
            if unit.machine in rebooting:
                what = f"a reboot of machine {unit.machine} seals {application.name}/{number}"
                others = listed(set(bundle.machines) - rebooting)
                instead = f"Place it on machine {others}" if others else "Unseal it after each reboot"
                yield application.place("to"), what, instead
