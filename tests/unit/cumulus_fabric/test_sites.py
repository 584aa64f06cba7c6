# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites whose switches this charm looks after."""

import pytest
from sites import gallery
from sites.drivers import fabric
from sites.judge import judge


@pytest.mark.parametrize("site", gallery.of("fabric"), ids=str)
def test_the_site(site: gallery.Site) -> None:
    judge(site, "fabric", fabric.see(site))
