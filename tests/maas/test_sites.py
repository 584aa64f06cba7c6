# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites whose MAAS has more than the site file's."""

import pytest
from sites import gallery
from sites.drivers import region
from sites.judge import judge


@pytest.mark.parametrize("example", gallery.of("maas"), ids=str)
def test_the_site(example, maas, site):
    judge(example, "maas", region.see(example, maas, site))
