# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

from unit.failing_reads import FailingReads


class TestSriovSwitchdev(FailingReads):
    pass
