# SPDX-License-Identifier: Apache-2.0
"""What the kernel is told and asked through netlink: links, devlink, ethtool and dcbnl."""
