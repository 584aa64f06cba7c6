# SPDX-License-Identifier: Apache-2.0
"""A real OpenStack control plane, Debian 13's, in namespaces of this host."""
