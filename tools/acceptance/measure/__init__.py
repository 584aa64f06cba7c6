# SPDX-License-Identifier: Apache-2.0
"""The ladder: the same measurements on one path after another, each a step closer to what tenants use."""
