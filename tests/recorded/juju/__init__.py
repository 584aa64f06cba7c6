# SPDX-License-Identifier: Apache-2.0
"""Bundles, and what Juju's own parser says of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
BUNDLES = HERE / "bundles.yaml"
SAID = HERE / "bundles-charm-12.0.1.yaml"


class Case(NamedTuple):
    """One bundle: its name, and the texts of its files, in their order."""

    name: str
    texts: list[str]


def cases() -> Iterator[Case]:
    """The bundles, each with its overlays."""
    file: dict[str, Any] = yaml.safe_load(BUNDLES.read_text())
    for case in file["cases"]:
        text = case.get("bundle", file["base"])
        for old, new in case.get("replace", {}).items():
            if text.count(old) != 1:
                raise ValueError(f"{case['case']}: {old!r} stands {text.count(old)} times")
            text = text.replace(old, new)
        yield Case(case["case"], [text, *(case[key] for key in ("overlay", "second") if key in case)])


def write(case: Case, folder: Path) -> list[Path]:
    """The files of a case, in a folder of its own."""
    folder.mkdir(parents=True)
    paths = [folder / f"{number}.yaml" for number in range(len(case.texts))]
    for path, text in zip(paths, case.texts, strict=True):
        path.write_text(text)
    return paths
