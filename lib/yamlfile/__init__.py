# SPDX-License-Identifier: Apache-2.0
"""YAML files that operators write: the fabric's intent, site files, and Juju's bundles.

``reader`` reads a text, or refuses it in one sentence that names file and line. ``values`` has the mappings
and lists that it returns, which know where they stand.
"""
