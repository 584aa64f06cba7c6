# SPDX-License-Identifier: Apache-2.0
"""Keystone v3: passwords and tokens for one project, a domain, the system or nothing, and the catalog."""

import json

from lab.openstack.answer import PROJECT, Answer

UNAUTHORIZED = Answer(
    401,
    {
        "error": {
            "code": 401,
            "message": "The request you have made requires authentication.",
            "title": "Unauthorized",
        }
    },
    headers={"WWW-Authenticate": 'Keystone uri="http://127.0.0.1/identity"'},
)
NO_TOKEN = Answer(404, {"error": {"code": 404, "message": "Failed to validate token", "title": "Not Found"}})
"""For a token that has expired or was revoked (TokenNotFound of keystone/token/provider.py)."""
FOREIGN = Answer(
    404, {"error": {"code": 404, "message": "Could not recognize Fernet token", "title": "Not Found"}}
)
"""For one that is not encrypted with a key that this Keystone still has."""
SERVICES = {"identity": "identity/v3", "compute": "compute/v2.1", "network": "network", "image": "image"}

ROLES = {"admin": "Admin", "tester": "member"}
"""Users of the project, with their roles."""


class Keystone:
    """The password of both users, and tokens: those given, those valid, and those of no administrator."""

    def __init__(self):
        self.url, self.password = "", "not-a-secret"
        self.given, self.tokens, self.members = set(), set(), set()

    def expire(self):
        """Every token expires."""
        self.tokens.clear()

    def project_of(self, token):
        return PROJECT if token in self.tokens else None

    def answer(self, method, words, _values, headers, body):
        if words == ["v3"] or words == [""]:
            links = [{"rel": "self", "href": f"{self.url}/identity/v3/"}]
            version = {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "links": links}
            return Answer(200, {"version": version})
        if words == ["v3", "auth", "tokens"] and method == "POST":
            return self._token(json.loads(body)["auth"])
        return Answer(404, {"error": {"code": 404, "message": "Not found.", "title": "Not Found"}})

    def _token(self, auth):
        identity = auth["identity"]
        if identity["methods"] == ["password"]:
            user = identity["password"]["user"]
            if user["password"] != self.password or user["name"] not in ROLES:
                return UNAUTHORIZED
            name = user["name"]
        elif identity["token"]["id"] not in self.given:
            return FOREIGN
        elif identity["token"]["id"] not in self.tokens:
            return NO_TOKEN
        else:
            name = "tester" if identity["token"]["id"] in self.members else "admin"
        token = f"gAAAAA{len(self.given):06}"
        self.given.add(token)
        self.tokens.add(token)
        if ROLES[name] != "Admin":
            self.members.add(token)
        domain = {"id": "default", "name": "admin_domain"}
        kinds = {"project": {"id": PROJECT, "name": "admin", "domain": domain}, "domain": domain}
        kinds["system"] = {"all": True}
        scope = {kind: kinds[kind] for kind in auth.get("scope", {}) if kind in kinds}
        catalog = [
            {
                "type": kind,
                "name": kind,
                "id": kind,
                "endpoints": [
                    {
                        "id": kind,
                        "interface": "public",
                        "region": "RegionOne",
                        "region_id": "RegionOne",
                        "url": url,
                    }
                ],
            }
            for kind, path in SERVICES.items()
            for url in [f"{self.url}/{path}"]
        ]
        body = {
            "methods": identity["methods"],
            "user": {"id": "a" * 32, "name": name, "domain": domain},
            "roles": [{"id": "b" * 32, "name": ROLES[name]}],
            "catalog": catalog if scope else [],
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "is_domain": False,
        }
        if scope:
            body |= scope
        return Answer(201, {"token": body}, headers={"X-Subject-Token": token})
