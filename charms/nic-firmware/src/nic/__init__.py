# SPDX-License-Identifier: Apache-2.0
"""What is done to a NIC: parameters, images, the reset and the reboot that activate them."""
