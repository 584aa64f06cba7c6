# SPDX-License-Identifier: Apache-2.0
"""The relations to Canonical's observability stack: where to scrape, the rules and the dashboards.

Two relations, of which a charm has those that its charmcraft.yaml declares:

- ``cos-agent``: a collector on this machine scrapes loopback. It takes the rules of an application from any
  of its units, so that all of them publish the same.
- ``metrics-endpoint``: Prometheus scrapes the unit's address, and reads the rules from the leader.

One bad rule makes Prometheus drop all of an application: tests/cos tries each. cosl and the charm libraries
for these relations need pydantic, which is compiled for each architecture; tests/cos compares what they
write with what is written here.
"""

import base64
import hashlib
import json
import lzma
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import ops
from exporter.catalogue import PORT

if TYPE_CHECKING:
    from importlib.abc import Traversable

RELATIONS = AGENT, ENDPOINT = "cos-agent", "metrics-endpoint"
"""A charm reads nothing of these relations."""
KEY = "config"
"""The key in the databag of cos-agent."""

Document = dict[str, Any]


class Observability(ops.Object):
    """Publishes what a charm ships, whenever Juju says that its code, its topology or its relations changed.

    It ships in the exporter's folder ``cos``: ``alerts.json`` (Prometheus' rules), perhaps ``logs.json``
    (Loki's), and dashboards in ``dashboards``.

    Args:
        charm: whose relations they are.
        host: the host's name.

    """

    def __init__(self, charm: ops.CharmBase, host: Callable[[], str] = str) -> None:
        super().__init__(charm, "observability")
        self._charm, self._host = charm, host
        self._names = [name for name in RELATIONS if name in charm.meta.relations]
        events = [charm.on.config_changed, charm.on.upgrade_charm, charm.on.leader_elected]
        events += [charm.on[name].relation_created for name in self._names]
        for event in events:
            self.framework.observe(event, self._publish)

    def address(self) -> str:
        """The address at which Prometheus scrapes this unit; empty unless it is related."""
        for relation in self._related(ENDPOINT):
            binding = self.model.get_binding(relation)
            found = str(binding.network.bind_address) if binding else ""
            try:
                return str(ip_address(found))
            except ValueError:  # Juju knows none yet
                return ""
        return ""

    def _related(self, name: str) -> Iterator[ops.Relation]:
        related = self.model.relations[name] if name in self._names else ()
        yield from (relation for relation in related if relation.active)

    def _publish(self, _: ops.EventBase) -> None:
        for relation in self._related(AGENT):
            _write(relation.data[self._charm.unit], {KEY: json.dumps(self._for_agent(), sort_keys=True)})
        for relation in self._related(ENDPOINT):
            if address := self.address():
                _write(relation.data[self._charm.unit], self._of_unit(address))
            if self._charm.unit.is_leader():
                given = {name: json.dumps(value, sort_keys=True) for name, value in self._for_all().items()}
                _write(relation.data[self._charm.app], given)

    def _for_agent(self) -> Document:
        target: Document = {"targets": [f"localhost:{PORT}"]}
        job = {"metrics_path": "/metrics", "static_configs": [target]}
        # The name is that of the library, and stays when a host is renamed: a new one would be a new series.
        digest = hashlib.blake2b(json.dumps(job, sort_keys=True).encode(), digest_size=4).hexdigest()
        if host := self._host():
            target["labels"] = {"instance": host}
        return {
            "metrics_alert_rules": self._rules("alerts.json"),
            # A log has the collector's labels: with ours, the rules would find none.
            "log_alert_rules": self._rules("logs.json", "model", "model_uuid"),
            "dashboards": [*self._dashboards()],
            "metrics_scrape_jobs": [{**job, "job_name": f"{self._charm.app.name}_default_{digest}"}],
            "log_slots": [],
        }

    def _for_all(self) -> Document:
        return {
            "scrape_metadata": {**self._topology(), "unit": self._charm.unit.name},
            "scrape_jobs": [{"metrics_path": "/metrics", "static_configs": [{"targets": [f"*:{PORT}"]}]}],
            "alert_rules": self._rules("alerts.json"),
        }

    def _of_unit(self, address: str) -> dict[str, str]:
        told = {"address": address, "path": "", "name": self._charm.unit.name, "fqdn": ""}
        return {f"prometheus_scrape_unit_{name}": value for name, value in told.items()}

    def _folder(self) -> "Traversable":
        from importlib import resources  # not in a hook that publishes nothing

        return resources.files("exporter") / "cos"

    def _topology(self) -> dict[str, str]:
        return {
            "model": self.model.name,
            "model_uuid": self.model.uuid,
            "application": self._charm.app.name,
            "charm_name": self._charm.meta.name,
        }

    def _rules(self, name: str, *topology: str) -> Document:
        """The rules of a file for this application, with labels of ``topology`` or of all of it.

        Nothing in them differs from unit to unit.
        """
        path = self._folder() / name
        if not path.is_file():
            return {}
        given = {key: value for key, value in self._topology().items() if not topology or key in topology}
        labels = {f"juju_{key.removesuffix('_name')}": value for key, value in given.items()}
        prefix = f"{self.model.name}_{self.model.uuid[:8]}_{self._charm.app.name}"
        rules: Document = json.loads(path.read_text())
        for group in rules["groups"]:
            name = f"{prefix}_{group['name']}_rules"
            group["name"] = "".join(each if each.isalnum() and each.isascii() else "_" for each in name)
            for rule in group["rules"]:
                rule["labels"] = {**rule["labels"], **labels}
        return rules

    def _dashboards(self) -> Iterator[str]:
        """Compressed as Grafana's charm reads them; the same text each time."""
        from exporter import dashboards  # not in a hook that publishes nothing

        page = f"charms/{self._charm.meta.name}/README.md"
        link = self._charm.meta.links.documentation or ""
        for document in dashboards.read(link.removesuffix(page) if link.endswith(f"/{page}") else ""):
            yield base64.b64encode(lzma.compress(json.dumps(document).encode())).decode()


def _write(databag: ops.RelationDataContent, given: Mapping[str, str]) -> None:
    """Set what differs: each key that is set starts a process of Juju's, and a hook on the other side."""
    for name, value in given.items():
        if databag.get(name, "") != value:
            databag[name] = value
