# SPDX-License-Identifier: Apache-2.0
"""`tox -e vault -- VERB --keys FILE`: open the bundle's Vault, which starts sealed, and comes back sealed.

init       make the keys, once; keep them safe
unseal     unseal every unit, after init and after each reboot of its host
authorize  give the charm a token of ten minutes, and have it make the root certificate

The keys are in a file of mode 0600, which init makes. With -, init prints them, and the others read them from
standard input.
"""

import argparse
import os
import ssl
import sys
from collections.abc import Callable
from pathlib import Path

import yaml
from converge import StepError
from operate import private
from operate.client import Juju, mapping
from vault import client
from vault.client import Keys, Vault
from yamlfile import reader

STREAM = "-"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="tox -e vault --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("verb", choices=tuple(_VERBS))
    top.add_argument("--keys", required=True, metavar="FILE", help="the file of the keys, or -")
    top.add_argument("--address", default="", metavar="HOST", help="only this Vault; default: Juju's units")
    top.add_argument("--https", action="store_true", help="it has a certificate that this system trusts")
    top.add_argument("--cacert", default="", metavar="FILE", help="the CA of its certificate: asks by HTTPS")
    top.add_argument("--application", default="vault", help="default: vault")
    top.add_argument("--model", "-m", default="", help="as for juju; default: the current model")
    return top


def main(arguments: list[str]) -> int:
    """Run one verb; 0 when it is done."""
    options = parser().parse_args(arguments)
    try:
        return _VERBS[options.verb](options, Juju(options.model))
    except StepError as error:
        print("; ".join(filter(None, (str(error), error.remedy))), file=sys.stderr)
        return 2


def _vaults(options: argparse.Namespace, juju: Juju) -> list[Vault]:
    tls = _tls(options.cacert) if options.cacert or options.https else None
    if options.address:
        return [Vault(options.address, tls)]
    status = juju.data("status", options.application)
    application = mapping(mapping(status.get("applications")).get(options.application))
    units = mapping(application.get("units"))
    found = [unit["public-address"] for unit in units.values() if unit.get("public-address")]
    if not found:
        raise StepError(f"{options.application} has no unit with an address", "wait, or give --address")
    return [Vault(address, tls) for address in found]


def _tls(cacert: str) -> ssl.SSLContext:
    """Return the check of certificates: by this CA, else by those of the system."""
    try:
        return ssl.create_default_context(cafile=cacert or None)
    except OSError as error:  # also ssl.SSLError
        why = error.strerror or str(error)
        raise StepError(f"--cacert {cacert} has no certificate that can be read: {why}") from None


def _keys(options: argparse.Namespace) -> Keys:
    return client.parse(sys.stdin.read() if options.keys == STREAM else reader.private(Path(options.keys)))


def _init(options: argparse.Namespace, juju: Juju) -> int:
    """The file and its room are made before the keys are: what cannot be kept must not be made."""
    vault = _vaults(options, juju)[0]
    if client.initialised(vault):
        raise StepError(f"Vault at {vault.address} already has its keys", "unseal it with them")
    if options.keys == STREAM:
        _print(client.init(vault))
        return 0
    path = Path(options.keys)
    descriptor = private.create(path)
    try:
        keys = client.init(vault)
    except BaseException:
        os.close(descriptor)
        path.unlink()
        raise
    try:
        private.fill(descriptor, keys.text())
        private.flush_folder(path)
    except BaseException as error:
        # Vault never tells them again.
        _print(keys)
        reason = getattr(error, "strerror", None) or type(error).__name__
        remedy = (
            "they are printed here instead: copy them to a safe place now; Vault does not tell them again"
        )
        raise StepError(f"the keys could not be written to {path}: {reason}", remedy) from error
    print(f"The keys are in {path}. Copy them to a safe place: without them, Vault cannot be opened again.")
    return 0


def _print(keys: Keys) -> None:
    """Print on standard output, or where that cannot be written, on standard error."""
    try:
        print(keys.text(), end="", flush=True)
    except (OSError, ValueError):
        print(keys.text(), end="", flush=True, file=sys.stderr)


def _unseal(options: argparse.Namespace, juju: Juju) -> int:
    keys = _keys(options)
    for vault in _vaults(options, juju):
        client.unseal(vault, keys)
        print(f"Vault at {vault.address} is open.")
    return 0


def _authorize(options: argparse.Namespace, juju: Juju) -> int:
    keys = _keys(options)
    leader = f"{options.application}/leader"
    with private.passing(yaml.safe_dump({"token": client.token(_vaults(options, juju)[0], keys)})) as path:
        juju.results(leader, "authorize-charm", "--params", path)
    juju.results(leader, "generate-root-ca")
    print(f"{options.application} is authorized and has a root certificate; the applications get theirs now.")
    return 0


_VERBS: dict[str, Callable[[argparse.Namespace, Juju], int]] = {
    "init": _init,
    "unseal": _unseal,
    "authorize": _authorize,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
