# SPDX-License-Identifier: Apache-2.0
"""The NICs of a host: their ports, functions and users, and how options select them.

The 16 modules stay in one folder: each reads one source of the kernel into the values of `port.py` and
`model.py`, and a charm's survey reads nearly all of them for the same ports.
"""
