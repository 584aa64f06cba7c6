# SPDX-License-Identifier: Apache-2.0
"""The clients of the kernel's netlink interfaces: links, devlink, ethtool and dcbnl."""
