# SPDX-License-Identifier: Apache-2.0
"""Glance v2: images, their data and their tags."""

import json

from lab.openstack.answer import PROJECT, Answer, number


def refusal(status, title, said):
    """Glance answers who asks for JSON, as openstacksdk does, in JSON with HTML in it."""
    told = {"message": f"{said}<br /><br />\n\n\n", "code": f"{status} {title}", "title": title}
    return Answer(status, told)


UNAUTHORIZED = refusal(
    401,
    "Unauthorized",
    "This server could not verify that you are authorized to access the document you requested. Either you "
    "supplied the wrong credentials (e.g., bad password), or your browser does not understand how to supply "
    "the credentials required.",
)
"""To a token that is not valid."""


class Glance:
    """Images by id."""

    def __init__(self):
        self.url, self.images, self.quota = "", {}, None

    def add(self, name, **values):
        """An image that is there already."""
        made = {
            "id": number(),
            "name": name,
            "status": "active",
            "tags": [],
            "owner": PROJECT,
            "visibility": "public",
            "disk_format": "qcow2",
            "container_format": "bare",
            **values,
        }
        self.images[made["id"]] = made
        return made

    def answer(self, method, words, values, _headers, body):
        if words in ([], [""], ["versions"]):
            links = [{"rel": "self", "href": f"{self.url}/image/v2/"}]
            return Answer(300, {"versions": [{"id": "v2.16", "status": "CURRENT", "links": links}]})
        if words == ["v2", "images"] and method == "GET":
            name = values.get("name")
            found = [image for image in self.images.values() if name in (None, image["name"])]
            return Answer(200, {"images": found, "schema": "/v2/schemas/images", "first": "/v2/images"})
        if words == ["v2", "images"]:
            made = self.add(**{**json.loads(body), "status": "queued", "visibility": "shared"})
            return Answer(201, made)
        image = self.images.get(words[2]) if words[:2] == ["v2", "images"] and len(words) > 2 else None
        if image is None:
            return refusal(404, "Not Found", f"No image found with ID {words[-1]}")
        if words[3:] == ["file"]:
            if self.quota is not None and len(body) > self.quota:
                return refusal(
                    413,
                    "Request Entity Too Large",
                    f"Resource image_size_total is over limit of {self.quota}",
                )
            image |= {"status": "active", "size": len(body)}
            return Answer(204)
        if method == "DELETE":
            del self.images[image["id"]]
            return Answer(204)
        return Answer(200, image)
