# SPDX-License-Identifier: Apache-2.0
"""A region that answers where urllib would open a connection: keys, paths, operations, and faults."""

import io
import json
import re
import threading
import time
import urllib.parse
import urllib.request
import urllib.response
from email.message import Message

from lab.maas.interfaces import Interfaces
from lab.maas.machines import Machines
from lab.maas.networks import Networks
from lab.maas.objects import PATHS
from lab.maas.refusal import CONFLICT, RefusedError, choose, get

KEY = "consumer:token:secret"
THRESHOLD = 300
"""Seconds by which a client's clock may differ (piston's oauth.py, timestamp_threshold)."""
LISTS = ("fabrics", "spaces", "subnets", "vlans", "ipranges", "tags", "machines", "rackcontrollers")
OTHERS = {
    "devices": lambda region: region.device_nodes,
    "regioncontrollers": lambda _: [],
    "static-routes": lambda region: region.routes,
    "ipaddresses": lambda region: region.given,
}
"""The kinds that are only listed."""


class Region(Networks, Machines, Interfaces, urllib.request.BaseHandler):
    """The whole region; `requests` has all that it was sent, `faults` the writes that fail, by number.

    A write goes to the method of its name, if there is one.
    """

    handler_order = 1  # before urllib's own

    def __init__(self):
        super().__init__()
        self.requests, self.faults = [], {}
        self.clock = time.time
        self.lock = threading.Lock()

    def typed(self, field, value):
        """A value as MAAS reads it: another object, a number, yes or no, or text, whose ends forms cut."""
        if field in ("vlan", "subnet"):
            return choose(getattr(self, f"{field}s"), value, field)
        if field in ("vid", "mtu"):
            return int(value)
        return value == "True" if value in ("True", "False") else value.strip()

    def listed(self, kind):
        if kind == "machines":
            self.time_passes()
        return getattr(self, kind)

    def answer(self, method, words, op, data):
        owner = None
        match words:
            case ["maas"]:
                return self.setting(op, **data)
            case ["boot-resources", *number]:
                return self.images(*number)
            case ["machines"] if op == "power_parameters":
                return self.power_parameters()
            case ["rackcontrollers", rack] if op == "list_boot_images":
                return self.rack_images(get("RackController", self.rackcontrollers, "system_id", rack))
            case [kind] if kind in OTHERS:
                return OTHERS[kind](self)
            case ["nodes", system_id, "devices"]:
                return self.devices[get("Node", self.machines, "system_id", system_id)["system_id"]]
            case ["nodes", system_id, *words]:
                owner = get("Node", self.machines, "system_id", system_id)
                self.changeable(owner, op)
            case ["fabrics", fabric, "vlans"]:
                owner, words = get("Fabric", self.fabrics, "id", fabric), ["vlans"]
        kind, *key = words
        if kind not in (*LISTS, "interfaces"):
            raise RefusedError(404, f"Unknown API endpoint: /MAAS/api/2.0/{'/'.join(words)}/.")
        name = kind[:-1].capitalize()
        target = get(name, getattr(self, kind), PATHS.get(kind, "id"), key[0]) if key else owner
        write = getattr(self, op or f"{method.lower()}_{kind}", None)
        if method == "GET":
            return self.listed(kind)
        if write:
            return write(data, target)
        if target:
            target.update(data)
        return target or self.add(kind, **data)

    def signed(self, request):
        """Raise RefusedError unless the request has the key; as piston's oauth.py does it."""
        found = dict(re.findall(r'oauth_(\w+)="([^"]+)"', request.get_header("Authorization")))
        consumer, token, secret = KEY.split(":")
        right = {"consumer_key": consumer, "version": "1.0", "signature_method": "PLAINTEXT"}
        now = int(self.clock())
        told = int(found.get("timestamp", 0))
        why = ""
        if any(found.get(key) != value for key, value in right.items()) or "nonce" not in found:
            why = "Invalid consumer."
        elif found.get("token") != token:
            why = f"Invalid access token: {found.get('token')}"
        elif abs(now - told) > THRESHOLD:
            why = f"Expired timestamp: given {told} and now {now} has a greater difference than threshold"
            why = f"{why} {THRESHOLD}"
        elif found.get("signature") != f"%26{secret}":
            why = f"Invalid signature. Expected signature base string: &{secret}"
        if why:
            raise RefusedError(401, f"Authorization Error: {why!r}")

    def http_open(self, request):
        """One request after the other, as MAAS' transactions are."""
        with self.lock:
            return self.one(request)

    def one(self, request):
        address, method = urllib.parse.urlsplit(request.full_url), request.get_method()
        data = urllib.parse.parse_qs((request.data or b"").decode(), keep_blank_values=True)
        data = {field: ",".join(values) for field, values in data.items()}
        path = address.path.removeprefix("/MAAS/api/2.0/")
        self.requests.append((method, path, data))
        writes = sum(method != "GET" for method, *_ in self.requests)
        try:
            self.signed(request)
            if method != "GET" and writes in self.faults:
                raise RefusedError(503, self.faults.pop(writes))
            query = dict(urllib.parse.parse_qsl(address.query))
            op = query.pop("op", None)
            data = query | {field: self.typed(field, value) for field, value in data.items()}
            status, said = 200, self.answer(method, path.strip("/").split("/"), op, data)
        except RefusedError as refusal:
            status, said = refusal.args
        return _response(request.full_url, status, said)


def _response(url, status, said):
    headers = Message()
    if said == CONFLICT or (status == 409 and str(said).startswith("<html>")):
        headers["Retry-After"] = "5"
    page = "text/html" if str(said).startswith("<html>") else "text/plain"
    is_text = said == "OK" or (status >= 400 and isinstance(said, str))
    headers["Content-Type"] = page if is_text else "application/json"
    text = said if is_text else json.dumps(said)
    answer = urllib.response.addinfourl(io.BytesIO(text.encode()), headers, url, status)
    answer.msg = ""
    return answer
