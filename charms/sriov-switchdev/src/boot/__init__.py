# SPDX-License-Identifier: Apache-2.0
"""What runs on the host without Juju, and what the charm installs for it."""
