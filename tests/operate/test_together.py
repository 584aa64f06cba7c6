# SPDX-License-Identifier: Apache-2.0
"""Jobs side by side: their order, their failures, and their end when the operator interrupts them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from converge import StepError
from operate import together


def test_what_came_of_each_job_is_in_the_order_of_the_jobs():
    later = threading.Event()

    def work(number):
        if number == 0:
            later.wait(60)  # the first one ends last
        if number == 20:
            later.set()
        if number == 7:
            raise StepError("seven")
        return number

    found = together.side_by_side(work, range(21), "done")
    assert [each for each in found if not isinstance(each, StepError)] == [*range(7), *range(8, 21)]
    assert str(found[7]) == "seven"


def test_after_an_interruption_no_further_job_begins(monkeypatch):
    begun, over = [], threading.Event()

    class Pool(ThreadPoolExecutor):
        """Its other jobs last until it is shut down."""

        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            over.set()
            super().shutdown(wait)

    def work(number):
        begun.append(number)
        if number:
            over.wait(60)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(together, "progress", interrupted)
    monkeypatch.setattr(together, "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        together.side_by_side(work, range(100), "done")
    assert len(begun) <= 1 + together.AT_ONCE
