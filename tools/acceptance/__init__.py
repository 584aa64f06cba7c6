# SPDX-License-Identifier: Apache-2.0
"""An operator's proof that instances of a deployed cloud get the speed that the NIC has."""
