# SPDX-License-Identifier: Apache-2.0
"""The product of packing one charm for one platform: the artifact, and its bill of materials beside it."""

from pathlib import Path
from typing import NamedTuple

import base
import sbom
import settled
import stage


class Product(NamedTuple):
    """The artifact, its bill, and the staged directory from which charmcraft packed it."""

    packed: Path
    bill: Path
    directory: Path


def make(charm: Path, platform: stage.Platform, target: Path) -> Product:
    """Pack a charm into the folder ``target``; two calls for one commit write the same bytes."""
    directory = stage.stage(charm, platform)
    made = base.pack(directory, platform)
    seconds = settled.epoch(charm)
    settled.settle(made, seconds)
    packed = made.replace(target / made.name)
    return Product(packed, sbom.write(packed, seconds), directory)
