# SPDX-License-Identifier: Apache-2.0
"""Which of Juju's hooks a unit looks at its machine in."""
