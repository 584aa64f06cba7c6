# SPDX-License-Identifier: Apache-2.0
"""A node under a real Prometheus and Alertmanager, with the rules and the inhibition that the charms ship."""
