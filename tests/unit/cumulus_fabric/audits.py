# SPDX-License-Identifier: Apache-2.0
"""The audits' findings in an example, whole or with something changed."""

import audit
from converge import Severity
from unit.cumulus_fabric.fabrics import fabric

BLOCKED, WARNING, INFO = Severity.BLOCKED, Severity.WARNING, Severity.INFO


def findings(change=None, hosts=(), example="rdg"):
    return audit.audit(fabric(example, change), hosts)


def found(severity, change=None, hosts=(), example="rdg"):
    """The findings of this severity, each as its path and its sentence."""
    return [f"{f.subject}: {f.what}" for f in findings(change, hosts, example) if f.severity is severity]
