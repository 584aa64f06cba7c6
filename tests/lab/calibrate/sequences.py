# SPDX-License-Identifier: Apache-2.0
"""All sequences, in the order in which they are run."""

from lab.calibrate import bonding, eswitch, settings

SEQUENCES = (*eswitch.SEQUENCES, *bonding.SEQUENCES, *settings.SEQUENCES)
