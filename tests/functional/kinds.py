# SPDX-License-Identifier: Apache-2.0
"""Kinds of guests besides the default one of each release."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lab.guest import Guest
from lab.image import chosen

IOMMU = " with IOMMU"
WITH_IOMMU = pytest.mark.parametrize("booted", [release + IOMMU for release in chosen()], indirect=True)
"""The test's ``machine`` has IOMMU groups, as a compute node has; the default one has none."""


@contextmanager
def started_first(kind: str) -> Iterator[Guest]:
    """A guest of a release, or of ``RELEASE + IOMMU``, with the snapshot "booted" of its first moment."""
    with Guest(kind.removesuffix(IOMMU), with_iommu=kind.endswith(IOMMU)) as guest:
        with pytest.raises(RuntimeError, match="charms/nobody"):  # what says so has imported ops by then
            guest.unit("nobody")
        guest.save("booted")
        yield guest
