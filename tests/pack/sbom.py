# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of an artifact (CycloneDX 1.6): its packages, their licences, and every file's hash.

The artifact's own files are components of the charm, those of an installed package are components of it.
"""

import csv
import email
import hashlib
import json
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from email.message import Message
from pathlib import Path, PurePosixPath

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.utils import canonicalize_name

SUFFIX = ".cdx.json"
LICENCE = "Apache-2.0"
CLASSIFIERS = {"Apache Software License": "Apache-2.0", "MIT License": "MIT"}
"""SPDX's names of the licences that packages name by a classifier of PyPI alone."""


def write(packed: Path, seconds: int) -> Path:
    """Write the bill of an artifact beside it, with the time that the artifact has; return its path."""
    files = _files(packed)
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()
    packages: list[Component] = []
    owned: set[str] = set()
    for metadata, names in _packages(packed):
        packages.append(_package(metadata, {name: files[name] for name in names}))
        owned |= names
    charm = Component(
        name=packed.name.partition("_")[0],
        type=ComponentType.APPLICATION,
        bom_ref=packed.name,
        version=_version(packed),
        licenses=[LicenseFactory().make_from_string(LICENCE)],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        components=_components({name: files[name] for name in files.keys() - owned}),
    )
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, digest),
        metadata=BomMetaData(component=charm, timestamp=datetime.fromtimestamp(seconds, timezone.utc)),
        components=packages,
        dependencies=[
            Dependency(charm.bom_ref, [Dependency(package.bom_ref) for package in packages]),
            *(Dependency(package.bom_ref) for package in packages),
        ],
    )
    written = beside(packed)
    outputter = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6)
    written.write_text(outputter.output_as_string(indent=1) + "\n")
    return written


def beside(packed: Path) -> Path:
    """Where the bill of an artifact is."""
    return packed.with_name(packed.name.removesuffix(".charm") + SUFFIX)


def faults(packed: Path, bill: Path) -> list[str]:
    """Where the bill and the artifact differ, one sentence each."""
    content = json.loads(bill.read_text())
    charm = content["metadata"]["component"]
    listed = {
        f"{item['name']} {item['version']}": [
            choice.get("expression") or choice["license"].get("id") for choice in item.get("licenses", [])
        ]
        for item in content.get("components", [])
    }
    installed = {f"{metadata['Name']} {metadata['Version']}" for metadata, _ in _packages(packed)}
    actual = _files(packed)
    claimed = {
        item["name"]: item["hashes"][0]["content"]
        for owner in [charm, *content.get("components", [])]
        for item in owner.get("components", [])
    }
    whole = hashlib.sha256(packed.read_bytes()).hexdigest()
    return [
        *(f"its SBOM has no package {name}" for name in sorted(installed - listed.keys())),
        *(f"its SBOM has the package {name}, which it lacks" for name in sorted(listed.keys() - installed)),
        *(
            f"its SBOM has no SPDX licence for {name}"
            for name, found in sorted(listed.items())
            if not all(found or [None])
        ),
        *(f"its SBOM has no file {name}" for name in sorted(actual.keys() - claimed.keys())),
        *(f"its SBOM has the file {name}, which it lacks" for name in sorted(claimed.keys() - actual.keys())),
        *(
            f"its SBOM has another hash of {name}"
            for name in sorted(actual.keys() & claimed.keys())
            if actual[name] != claimed[name]
        ),
        *([] if charm["hashes"][0]["content"] == whole else ["its SBOM has another hash of the artifact"]),
        *([] if charm["version"] == _version(packed) else ["its SBOM has another version of the charm"]),
    ]


def _package(metadata: Message, files: Mapping[str, str]) -> Component:
    name, version = canonicalize_name(metadata["Name"]), metadata["Version"]
    purl = PackageURL("pypi", None, name, version)
    licence = _licence(metadata)
    return Component(
        name=metadata["Name"],
        version=version,
        bom_ref=str(purl),
        purl=purl,
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
        components=_components(files),
    )


def _licence(metadata: Message) -> str | None:
    """Return a package's own words on its licence: the newest field first."""
    if stated := metadata["License-Expression"] or metadata["License"]:
        return stated
    named = {
        line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if "License ::" in line
    }
    return " OR ".join(sorted(CLASSIFIERS.get(name, name) for name in named)) or None


def _components(files: Mapping[str, str]) -> list[Component]:
    return [
        Component(
            name=name,
            type=ComponentType.FILE,
            bom_ref=f"file:{name}",
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        )
        for name, digest in files.items()
    ]


def _files(packed: Path) -> dict[str, str]:
    """Each file of an artifact, with its SHA-256."""
    with zipfile.ZipFile(packed) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def _packages(packed: Path) -> Iterable[tuple[Message, set[str]]]:
    """The metadata of each installed package, and those of its files that the artifact has."""
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        for path in sorted(name for name in names if name.endswith(".dist-info/METADATA")):
            information = PurePosixPath(path).parent
            rows = csv.reader(archive.read(f"{information}/RECORD").decode().splitlines())
            recorded = {str(information.parent / row[0]) for row in rows if row}
            of_it = {name for name in names if name.startswith(f"{information}/")}
            yield email.message_from_bytes(archive.read(path)), (recorded & set(names)) | of_it


def _version(packed: Path) -> str:
    with zipfile.ZipFile(packed) as archive:
        return archive.read("version").decode().strip()
