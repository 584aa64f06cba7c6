# SPDX-License-Identifier: Apache-2.0
"""Self-signed certificates, as a switch makes one for itself; made by the openssl tool."""

import hashlib
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path

    @classmethod
    def make(
        cls, directory: Path, name: str = "cumulus", names: tuple[str, ...] = ("IP:127.0.0.1",)
    ) -> "Certificate":
        """A new self-signed certificate for these subject alternative names, in ``directory``."""
        made = cls(directory / f"{name}.pem", directory / f"{name}.key")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        command += [
            "-nodes",
            "-days",
            "3650",
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName={','.join(names)}",
        ]
        command += ["-keyout", str(made.key), "-out", str(made.certificate)]
        subprocess.run(command, check=True, capture_output=True)
        return made

    @property
    def pem(self) -> str:
        """The certificate's text; also a CA's, since it signed itself."""
        return self.certificate.read_text()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its DER form, as ``openssl x509 -fingerprint -sha256`` prints it."""
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.pem)).hexdigest().upper()
        return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))

    def context(self) -> ssl.SSLContext:
        """Return the context with which a server presents it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context
