# SPDX-License-Identifier: Apache-2.0
"""What `tox -e unit` makes of its pytest runs' exit statuses."""

import pytest
from unit.__main__ import verdict


@pytest.mark.parametrize(
    ("statuses", "options", "status"),
    [
        pytest.param([0, 0, 0], [], 0, id="all pass"),
        pytest.param([0, 1, 0], [], 1, id="one fails"),
        pytest.param([0, -11, 0], [], -11, id="one crashes"),
        pytest.param([5, 0, 5], ["-k", "lag"], 0, id="one has what was asked for"),
        pytest.param([5, 1, 5], ["-k", "lag"], 1, id="one has, and it fails"),
        pytest.param([5, 5, 5], ["-k", "lga"], 5, id="none has"),
        pytest.param([0, 5, 0], [], 5, id="a charm lost its tests"),
    ],
)
def test_the_exit_status_is_zero_only_if_something_ran_and_all_of_it_passed(
    statuses: list[int], options: list[str], status: int
) -> None:
    assert verdict(statuses, options) == status
