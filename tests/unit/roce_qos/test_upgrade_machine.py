# SPDX-License-Identifier: Apache-2.0
from unit.upgraded import UpgradesMachine


class TestRoceQos(UpgradesMachine):
    pass
