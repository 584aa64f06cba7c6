# SPDX-License-Identifier: Apache-2.0
"""Operations on the modelled host: its ports, their netdevs and a VF, and what an operation refuses."""

import pytest
from converge import StepError
from converge.plan import Op
from lab.modelled import FakeHost

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"
VF0 = "0000:3b:00.2"


def probing(host: FakeHost) -> FakeHost:
    """With autoprobe on again, as binding wants it."""
    for port in host.network.ports():
        port.autoprobe = True
    return host


def refused(op: Op[FakeHost], host: FakeHost) -> StepError:
    with pytest.raises(StepError) as error:
        op.run(host)
    return error.value
