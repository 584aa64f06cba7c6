# SPDX-License-Identifier: Apache-2.0
"""The NICs of a host: their ports, functions and users, and how options select them."""
