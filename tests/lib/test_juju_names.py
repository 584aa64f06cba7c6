# SPDX-License-Identifier: Apache-2.0
"""No charm declares a name that Juju keeps for itself: ops' testing framework knows nothing of them."""

from pathlib import Path

import pytest
import yaml
from bundle.reserved import reserved

CHARMS = sorted((Path(__file__).parents[2] / "charms").glob("*/charmcraft.yaml"))


@pytest.mark.parametrize("path", CHARMS, ids=lambda path: path.parent.name)
def test_a_charm_declares_no_name_of_jujus(path: Path) -> None:
    assert reserved(yaml.safe_load(path.read_text())) == []
