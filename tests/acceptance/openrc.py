# SPDX-License-Identifier: Apache-2.0
"""Writes a cloud's entry in clouds.yaml from what the charms of Keystone and Vault tell."""

import os
from pathlib import Path
from typing import Any, cast

import yaml
from converge import StepError
from operate.client import Juju, mapping

REGION = "RegionOne"
Applications = dict[str, dict[str, Any]]


def path() -> Path:
    """Where openstacksdk looks first, besides the current folder."""
    named = os.environ.get("OS_CLIENT_CONFIG_FILE")
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(named or f"{base}/openstack/clouds.yaml").expanduser()


def write(juju: Juju, name: str, target: Path) -> str:
    """Write the entry, and the cloud's CA beside the file; other clouds stay. Returns what was done.

    Raises:
        StepError: Juju or a charm does not answer, or the file cannot be changed.

    """
    content = _read(target)
    password = juju.results("keystone/leader", "get-admin-password").get("admin-password")
    if not password:
        raise StepError(
            "keystone's action get-admin-password returns no password", "see: juju status keystone"
        )
    settings = {key: told.get("value") for key, told in juju.data("config", "keystone")["settings"].items()}
    status: Applications = juju.data("status")["applications"]
    authority = _authority(juju, status)
    units: Applications = mapping(status["keystone"].get("units"))
    host = settings.get("os-public-hostname") or str(settings.get("vip") or "").split(" ")[0]
    host = str(host or next((unit.get("public-address") for unit in units.values()), "") or "")
    if not host:
        raise StepError("keystone has no address yet", "see: juju status keystone")
    auth = {
        "auth_url": f"{'https' if authority else 'http'}://{f'[{host}]' if ':' in host else host}:5000/v3",
        "username": "admin",
        "password": password,
        "user_domain_name": "admin_domain",
        "project_name": "admin",
        "project_domain_name": "admin_domain",
    }
    entry: dict[str, Any] = {
        "auth": auth,
        "region_name": settings.get("region") or REGION,
        "identity_api_version": 3,
    }
    if authority:
        entry["cacert"] = str(target.with_name(f"{name}-ca.pem"))
        _private(Path(entry["cacert"]), authority)
    content["clouds"] = {**(content.get("clouds") or {}), name: entry}
    _private(target, yaml.safe_dump(content, sort_keys=False))
    return f"{target} has cloud {name} at {auth['auth_url']}."


def _authority(juju: Juju, status: Applications) -> str:
    """The CA's certificate if Vault certifies Keystone, else nothing."""
    vaults = [name for name, each in status.items() if each.get("charm-name", name) == "vault"]
    related = mapping(status["keystone"].get("relations"))
    if not vaults or not related.get("certificates"):
        return ""
    return juju.results(f"{vaults[0]}/leader", "get-root-ca").get("output") or ""


def _read(target: Path) -> dict[str, Any]:
    try:
        found: object = yaml.safe_load(target.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise StepError(f"{target} cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(found, dict):
        raise StepError(
            f"{target} is not a mapping with the key clouds", "move it away, then run openrc again"
        )
    return cast("dict[str, Any]", found)


def _private(target: Path, text: str) -> None:
    """Replace a file; nobody else can read it at any time."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(target)
    except OSError as error:
        raise StepError(f"{target} cannot be written: {error.strerror}") from None
