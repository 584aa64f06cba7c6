# SPDX-License-Identifier: Apache-2.0
"""The changes that a plan's steps make: small frozen values that write, read back, and say why not.

Each ``run(system)`` returns when the machine reads back as asked, without a write when it already
did, and raises :class:`converge.StepError` otherwise. Deadlines are seconds; they are polled
through ``System.sleep``, so that a modelled host spends no real time.

A plan imports an operation where it builds the step: a hook that changes nothing loads none of them.
"""
