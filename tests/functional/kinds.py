# SPDX-License-Identifier: Apache-2.0
"""Kinds of guests besides the default one of each release."""

import pytest
from lab.image import CHOSEN

IOMMU = " with IOMMU"
WITH_IOMMU = pytest.mark.parametrize("booted", [release + IOMMU for release in CHOSEN], indirect=True)
"""The test's ``machine`` has IOMMU groups, as a compute node has; the default one has none."""
