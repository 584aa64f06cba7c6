# SPDX-License-Identifier: Apache-2.0
"""Juju for all tests: what a controller knows, the order of hooks, the hooks themselves, and the client.

===============  ======================================================================
`uniter`         in which order Juju's agent runs the hooks of one unit
`model`          relations, databags and leaders of one model, and which hooks follow a change of them
`hooktools`      charms' hooks in this process, with ops' own code
`agents`         which hook each unit of a model runs next, without real time
`alone`          one unit, as ops.testing runs its hooks and actions
`peers`          the peer relation as one hook sees it, without ops
`service`        the units of one guest, inside the guest; `remote` asks it from the host
`cli`            the command `juju`; `deployed` is a deployed bundle, `fleet` many compute nodes
`simulated`      that command for the integration tests; `machines` are its machines
===============  ======================================================================

``hooks-4.0.15.yaml`` has the hooks that a controller ran. tests/lib/lab/test_recorded.py compares. Units on
guests in real time are :mod:`lab.rack.controller`'s.
"""
