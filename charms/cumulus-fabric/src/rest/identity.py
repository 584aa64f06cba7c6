# SPDX-License-Identifier: Apache-2.0
"""The certificate and key with which a client proves itself to switches that ask for one (mTLS).

Facts: Cumulus Linux command reference, ``nv set system api mtls ca-certificate`` (5.8 and later).
"""

import os
import re
import ssl
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_MISMATCH = "KEY_VALUES_MISMATCH"


class IdentityError(ValueError):
    """A certificate and key that cannot be used; the sentence shows nothing of the key."""


@dataclass(frozen=True)
class Identity:
    """A certificate with its key. Neither ``repr`` nor ``str`` shows the key."""

    certificate: str  # PEM; with those of authorities between it and the one that the switch knows
    key: str = field(repr=False)  # PEM, without a passphrase

    def load(self, context: ssl.SSLContext) -> None:
        """Have connections of this context present it. Raises IdentityError if it cannot be used."""
        if not re.search("-----BEGIN CERTIFICATE-----", self.certificate):
            raise IdentityError("the client's certificate is not in PEM form")
        if not re.search("-----BEGIN [A-Z ]*PRIVATE KEY-----", self.key):
            raise IdentityError("the client's key is not in PEM form")
        try:
            with _in_memory(f"{self.certificate.strip()}\n{self.key.strip()}\n") as path:
                context.load_cert_chain(path, password=_no_passphrase)
        except _PassphraseError:
            raise IdentityError("the client's key has a passphrase; give one without") from None
        except ssl.SSLError as error:
            if error.reason == _MISMATCH:
                raise IdentityError("the client's key is not that of the certificate") from None
            raise IdentityError("the client's certificate or key cannot be read") from None

    def check(self) -> None:
        """See that it can be used now. Raises IdentityError if it cannot, such as after its last day.

        OpenSSL judges it in a handshake in memory, at which nobody else takes part.
        """
        server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for context in (server, client):
            self.load(context)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        server.verify_mode = ssl.CERT_REQUIRED
        server.load_verify_locations(cadata=self.certificate)
        server.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            client.wrap_bio(to_client, to_server),
            server.wrap_bio(to_server, to_client, server_side=True),
        )
        try:
            for _ in range(_ROUNDS):
                for end in ends:
                    with suppress(ssl.SSLWantReadError):
                        end.do_handshake()
        except ssl.SSLCertVerificationError as error:
            raise IdentityError(f"the client's certificate cannot be used: {error.verify_message}") from None


_ROUNDS = 3
"""Turns of both ends until a handshake is over."""


class _PassphraseError(Exception):
    """The key asks for a passphrase."""


def _no_passphrase() -> str:
    raise _PassphraseError  # OpenSSL would ask at the terminal


@contextmanager
def _in_memory(text: str) -> Generator[str]:
    """A path to this text, which is in memory alone: OpenSSL reads certificates and keys from files only."""
    number = os.memfd_create("identity")
    try:
        os.write(number, text.encode())
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)
