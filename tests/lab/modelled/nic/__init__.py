# SPDX-License-Identifier: Apache-2.0
"""A modelled ConnectX: ports and functions, what mlx5 does with them, its firmware and its flash."""
