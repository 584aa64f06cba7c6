# SPDX-License-Identifier: Apache-2.0
"""The bundle checker: a bundle with its overlays, as Juju merges them, against every rule."""
