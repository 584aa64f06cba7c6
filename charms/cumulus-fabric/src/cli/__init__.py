# SPDX-License-Identifier: Apache-2.0
"""The charm's verbs on a command line, without Juju: ``python -m cli``."""
