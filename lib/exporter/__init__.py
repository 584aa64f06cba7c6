# SPDX-License-Identifier: Apache-2.0
"""The exporter: what a machine's NICs, and the last look of each charm, say to Prometheus."""
