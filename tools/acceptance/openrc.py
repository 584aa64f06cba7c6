# SPDX-License-Identifier: Apache-2.0
"""Writes a cloud's entry in clouds.yaml from what the charms of Keystone and Vault tell."""

import base64
import os
import shlex
from pathlib import Path
from typing import Any

import yaml
from converge import StepError
from operate import private
from operate.client import READ, Juju, mapping
from yamlfile import reader
from yamlfile.values import FileError

REGION = "RegionOne"
HOLDS = "this is no clouds.yaml: it has no mapping with the key clouds"
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
    private.keep(str(password))
    settings = {key: told.get("value") for key, told in juju.data("config", "keystone")["settings"].items()}
    status: Applications = juju.data("status")["applications"]
    relations = mapping(status["keystone"].get("relations"))
    providers = [str(each.get("related-application")) for each in relations.get("certificates") or ()]
    # Keystone serves HTTPS with its own certificate, or with the one of whoever certifies it.
    tls = bool(settings.get("ssl_cert") or providers)
    authority = _authority(juju, status, settings, providers)
    units: Applications = mapping(status["keystone"].get("units"))
    host = settings.get("os-public-hostname") or str(settings.get("vip") or "").split(" ")[0]
    host = str(host or next((unit.get("public-address") for unit in units.values()), "") or "")
    if not host:
        raise StepError("keystone has no address yet", "see: juju status keystone")
    auth = {
        "auth_url": f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:5000/v3",
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
        private.replace(Path(entry["cacert"]), authority)
    content["clouds"] = {**(content.get("clouds") or {}), name: entry}
    private.replace(target, yaml.safe_dump(content, sort_keys=False))
    said = f"{target} has cloud {name} at {auth['auth_url']}."
    return (
        said if tls else f"{said} Keystone has no certificate: the password crosses the network unencrypted."
    )


def _authority(juju: Juju, status: Applications, settings: dict[str, Any], providers: list[str]) -> str:
    """The CA that signed Keystone's certificate; nothing for one that this system trusts already.

    Raises:
        StepError: Keystone waits for its certificate, or its CA is not known.

    """
    if settings.get("ssl_cert"):
        return _decoded(str(settings.get("ssl_ca") or ""))
    if not providers:
        return ""
    provider = providers[0]
    if status.get(provider, {}).get("charm-name", provider) == "vault":
        found = str(juju.results(f"{provider}/leader", "get-root-ca").get("output") or "")
        remedy = "authorize Vault first: pipx run tox -e vault -- authorize --keys FILE"
    else:
        # charmhelpers (contrib/openstack/cert_utils.py) names the file after the application that certifies.
        file = f"/usr/local/share/ca-certificates/{provider}_juju_ca_cert.crt"
        told = juju.execute(_unit(status), f"cat {shlex.quote(file)}", wait=READ)
        found = str(mapping(told.get("results")).get("stdout") or "")
        remedy = f"see: juju status {provider} keystone"
    if "BEGIN CERTIFICATE" not in found:
        # Without it the password would go to whoever answers at that address.
        raise StepError(f"keystone is related to {provider}, which has given it no certificate yet", remedy)
    return found


def _unit(status: Applications) -> str:
    units = mapping(status["keystone"].get("units"))
    if not units:
        raise StepError("keystone has no unit yet", "see: juju status keystone")
    return next(iter(units))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("ascii")
    except ValueError:
        raise StepError(
            "keystone's option ssl_ca is not a certificate in base64", "see: juju config keystone ssl_ca"
        ) from None


def _read(target: Path) -> dict[str, Any]:
    """Read the file as openstacksdk reads it (YAML 1.1); empty if there is none.

    Of a key that stands twice, openstacksdk takes the second, and the first would be lost.
    """
    if not target.exists():
        return {}
    try:
        text = reader.text_of(target)
        document = reader.read(text, str(target), lambda found: found, HOLDS)
        if not isinstance(document.get("clouds"), dict | None):
            raise FileError("clouds is no mapping of names and clouds", document.places["clouds"])
        return yaml.safe_load(text) or {}
    except FileError as error:
        said = f"{error.place}: {error.what}" if error.place else error.what
    except (yaml.YAMLError, ValueError) as error:
        said = f"{target} cannot be read: {str(error).splitlines()[0]}"
    raise StepError(said, "correct it, or move it away, then run openrc again")
