# SPDX-License-Identifier: Apache-2.0
from unit.refreshed import FromRelease


class TestSriovSwitchdev(FromRelease):
    charm = "sriov-switchdev"
