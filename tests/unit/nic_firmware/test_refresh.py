# SPDX-License-Identifier: Apache-2.0
from unit.refreshed import FromRelease


class TestNicFirmware(FromRelease):
    charm = "nic-firmware"
