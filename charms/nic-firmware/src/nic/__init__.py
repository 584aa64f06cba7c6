# SPDX-License-Identifier: Apache-2.0
"""The changes of a NIC: parameters, images, the reset and the reboot that activate them."""
