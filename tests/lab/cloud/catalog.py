# SPDX-License-Identifier: Apache-2.0
"""Runs in the root, with Keystone up: the services' users, and the catalog. usage: catalog.py JSON"""

import json
import sys

import openstack


def main(given):
    """`given` has openstacksdk's arguments, the services' users, and the catalog as (name, type, URL)."""
    identity = openstack.connect(**given["connect"]).identity
    domain = identity.find_domain("Default").id
    project = identity.create_project(name="service", domain_id=domain)
    roles = {role.name: role for role in identity.roles()}
    if "service" not in roles:  # Keystone's bootstrap makes it from 2023.2 on, and the charms before
        roles["service"] = identity.create_role(name="service")
    for name in given["users"]:
        user = identity.create_user(name=name, password=given["password"], domain_id=domain)
        for role in ("admin", "service"):
            identity.assign_project_role_to_user(project, user, roles[role])
    for name, kind, url in given["catalog"]:
        service = identity.create_service(name=name, type=kind)
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(
                service_id=service.id, interface=interface, url=url, region_id=given["connect"]["region_name"]
            )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
