# SPDX-License-Identifier: Apache-2.0
# The part of charmhelpers, which has no types of its own, that the charms use.
from collections.abc import Sequence

def apt_install(
    packages: Sequence[str], options: Sequence[str] | None = None, fatal: bool = False
) -> None: ...
def apt_update(fatal: bool = False) -> None: ...
