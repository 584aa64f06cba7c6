# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites on whose clouds the acceptance test runs."""

import pytest
from sites import gallery
from sites.drivers import acceptance
from sites.judge import judge


@pytest.mark.parametrize("site", gallery.of("acceptance"), ids=str)
def test_the_site(site, world):
    judge(site, "acceptance", acceptance.see(site, world))
