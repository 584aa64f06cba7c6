# SPDX-License-Identifier: Apache-2.0
"""The programs that run on the host without Juju, and the files that the charm installs for them."""
