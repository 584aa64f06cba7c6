# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from unit.refreshed import FromRelease1


class TestSriovSwitchdev(FromRelease1):
    folder = Path(__file__).parent
