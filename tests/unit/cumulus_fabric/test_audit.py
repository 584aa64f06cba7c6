# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a fabric is found before anything is sent, and named by its path in the intent."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, INFO, WARNING, findings, found


@pytest.mark.parametrize("example", ["rdg", "rdg-max", "demartek"])
def test_the_examples_can_be_applied(example):
    assert found(BLOCKED, example=example) == []


def test_the_guides_own_faults_are_reported():
    assert [(f.severity, f.subject) for f in findings()] == [
        (WARNING, "leaves.segment-mac"),
        (WARNING, "leaves.df-preference"),
        (INFO, "racks[0].single-homed.juju"),
        (INFO, "racks[0].single-homed.maas"),
        (INFO, "leaves.anycast-mac"),
        (INFO, "roce"),
    ]


def test_every_finding_but_a_remark_says_what_to_do():
    for example in ("rdg", "rdg-max"):
        assert [f for f in findings(example=example) if f.severity > INFO and not f.remedy] == []
