# SPDX-License-Identifier: Apache-2.0
from unit.upgraded import RebootsAndUpgradesMachine


class TestSriovSwitchdev(RebootsAndUpgradesMachine):
    pass
