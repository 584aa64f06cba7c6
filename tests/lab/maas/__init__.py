# SPDX-License-Identifier: Apache-2.0
"""A MAAS 2.0 region for tests: the paths that the command uses, with MAAS' own rules, words and status codes.

It refuses what MAAS 3.4 refuses: `tests/recorded/maas` has what a real one said. What is not recorded follows
canonical/maas, branch 3.4, src/maasserver: api/ for paths and answers, forms/ and models/ for the rules, and
src/provisioningserver/drivers for power types.
"""

from lab.maas.refusal import CONFLICT, RefusedError
from lab.maas.region import KEY, Region
from lab.maas.settings import image

__all__ = ["CONFLICT", "KEY", "RefusedError", "Region", "image"]
