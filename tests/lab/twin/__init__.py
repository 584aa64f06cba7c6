# SPDX-License-Identifier: Apache-2.0
"""The twin: Cumulus switches as network namespaces, behind the simulator's NVUE API. See README.md."""
