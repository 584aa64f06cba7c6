# SPDX-License-Identifier: Apache-2.0
"""How tests upgrade simulated switches."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from apply import ApplyPolicy
from audit.foreign import Ownership
from backups.folder import Folder
from intent import image
from tree import drain, get_path
from tree.record import Record
from unit.cumulus_fabric.online.drained import POLICY
from unit.cumulus_fabric.online.site import Rack
from upgrade.run import Outcome, Upgrade

URL = "http://192.0.2.1/cumulus-linux-{}-mlx-amd64.bin"


class Upgrading:
    """Switches whose operator's server has an image, and the record of what was made and drained."""

    def __init__(self, made: Rack, release: str, folder: Folder) -> None:
        self.made, self.release, self.folder = made, release, folder
        self.record = Record(made.site.survey().last)
        self.lines: list[str] = []
        for server in made.servers.values():
            server.switch.images.server = {URL.format(release): release}

    def work(self, announce: Callable[[str], None] | None = None, **given: Any) -> Upgrade:
        site = replace(self.made.site, ownership=Ownership.of(self.record), backups=self.folder)
        policy = replace(POLICY, announce=announce or self.lines.append)
        wanted = image.read("image", URL.format(self.release), given.pop("sha256", ""))

        def remember(returned: Any) -> None:
            self.record = self.record.updated(site.survey().record, returned)

        def how() -> ApplyPolicy:
            return policy

        return Upgrade(site, wanted, how, remember=remember, **given)

    def __call__(self, **given: Any) -> Outcome:
        """Approve the plan, and do it."""
        most = given.pop("most", None)
        work = self.work(**given)
        return work.run(work.plan().digest, most)

    def images(self, name: str) -> Any:
        return self.made.servers[name].switch.images

    def releases(self) -> dict[str, str]:
        return {name: server.switch.release for name, server in self.made.servers.items()}

    def drained(self) -> list[str]:
        trees = self.made.applied.items()
        return [name for name, tree in trees if get_path(tree, drain.GRACEFUL) in ("on", "enabled")]
