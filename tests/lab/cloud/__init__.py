# SPDX-License-Identifier: Apache-2.0
"""A real OpenStack control plane, of a distribution's own packages, in namespaces of this host."""
