# SPDX-License-Identifier: Apache-2.0
"""`python -m recorded.openstack`: send all calls to a real OpenStack here, and compare the answers.

It is the lab's control plane (lab.cloud), which ends with it: the release is the first one of LAB_RELEASES.

Exit status: 0 all is as recorded, 1 something differs. With --record, what differs is kept.
"""

import datetime
import subprocess
import sys

import yaml
from lab.cloud.addresses import PASSWORD, url
from lab.cloud.cloud import Cloud
from lab.cloud.inside import ADMIN
from lab.cloud.root import root

from recorded import parser
from recorded.openstack import HERE, MEMBER, Life, answers, calls

SERVICES = {
    "identity": f"{url('keystone')}/v3",
    "compute": f"{url('nova')}/v2.1",
    "network": f"{url('neutron')}/v2.0",
    "image": f"{url('glance')}/v2",
}
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# What OpenStack {title} answered to {count} requests, one after the other, on {date}
# (python -m recorded.openstack --record). Packages: {packages}.
"""


def main(arguments: list[str]) -> int:
    """Ask, compare, and keep what differs."""
    options = parser("openstack", __doc__).parse_args(arguments)
    with Cloud() as cloud:
        release = cloud.openstack.version.lower()
        before = answers(release) if (HERE / f"{release}.yaml").exists() else {}
        _member(cloud)
        life = Life(SERVICES, (PASSWORD, PASSWORD), ADMIN["user_domain_name"], cloud.proxy)
        found = {call.call: said for call, said in life.answers(calls())}
    differ = [name for name in found if found[name] != before.get(name)]
    for name in differ:
        print(f"{name}: {found[name]}, recorded {before.get(name, 'not yet')}")
    print(f"OpenStack {cloud.openstack.title}: {len(differ)} of {len(found)} answers differ")
    if options.record:
        head = HEAD.format(
            title=cloud.openstack.title, packages=_packages(), count=len(found), date=datetime.date.today()
        )
        (HERE / f"{release}.yaml").write_text(head + yaml.safe_dump(found, sort_keys=False, width=10_000))
    return 1 if differ and not options.record else 0


def _member(cloud: Cloud) -> None:
    """A user of the administrator's project who is no administrator."""
    identity = cloud.connect().identity
    project, role = identity.find_project(ADMIN["project_name"]), identity.find_role("member")
    user = identity.create_user(name=MEMBER, password=PASSWORD, domain_id=project.domain_id)
    identity.assign_project_role_to_user(project, user, role)


def _packages() -> str:
    """The versions of the services that refuse, as the root's packages have them."""
    names = ("keystone", "nova-api", "python3-neutron", "glance-api")
    query = ["dpkg-query", f"--admindir={root()}/var/lib/dpkg", "--show"]
    shown = subprocess.run([*query, "--showformat=${Package} ${Version}, ", *names], capture_output=True)
    return shown.stdout.decode().removesuffix(", ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
