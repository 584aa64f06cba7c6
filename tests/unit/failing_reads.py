# SPDX-License-Identifier: Apache-2.0
"""Has each read of a hook fail in turn, and tells what became a traceback."""

import copy
import errno
import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Protocol

import pytest
from hostnic import exclusive, own
from lab.modelled import FakeHost
from ops import testing

SAID = os.strerror(errno.EIO)
BASICS = (
    ("read", "/proc/sys/kernel/random/boot_id"),
    ("read", "/proc/sys/kernel/osrelease"),
    ("links", ""),
    ("listdir", "/run/ovn-offload"),
    ("listdir", "/etc/systemd/system"),
    ("listdir", "/sys/bus/pci/devices"),
)
"""Reads without which a charm cannot do its work; those that a charm does not make are left out."""
NUMBER = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[0-9]+")
EVENTS = pytest.mark.parametrize("event", ["config_changed", "update_status", "stop"])


class Node(Protocol):
    """A unit and its host, of any of the host charms."""

    host: FakeHost


def kinds(node: Node, run: Callable[[], object]) -> list[tuple[str, str]]:
    """The calls to the host in ``run``, one of each kind: PCI addresses and numbers do not matter."""
    before, node.host = node.host, copy.deepcopy(node.host)
    node.host.asked.clear()
    run()
    found = {(verb, NUMBER.sub("N", words)): (verb, words) for verb, words in reversed(node.host.asked)}
    node.host = before
    return sorted(found.values())


def failing(node: Node, calls: list[tuple[str, str]]) -> Iterator[str]:
    """Each of the calls; while it is looked at it fails, on a host that nothing has changed yet."""
    before = node.host
    for verb, words in calls:
        node.host = copy.deepcopy(before)
        node.host.fail(verb, words, OSError(errno.EIO, SAID), times=None)
        yield f"{verb} {words}"
    node.host = before


def escaping(node: Node, run: Callable[[], object]) -> tuple[list[str], int]:
    """The calls whose failure raises out of ``run``, with the error; and how many calls there are."""
    calls, escaped = kinds(node, run), list[str]()
    for call in failing(node, calls):
        try:
            run()
        except testing.ActionFailed as error:
            assert error.message
        except Exception as error:
            escaped.append(f"{call}: {error.__cause__ or error!r}")
    return escaped, len(calls)


def unmentioned(node: Node, run: Callable[[], str]) -> list[str]:
    """The basic reads whose failure is not in the text that ``run`` returns."""
    calls = kinds(node, run)
    basics = [read for read in BASICS if any(read[0] == verb and read[1] in words for verb, words in calls)]
    assert len(basics) >= 3
    return [call for call in failing(node, basics) if SAID not in run()]


def unchecked(node: Node, run: Callable[[], object]) -> set[str]:
    """Files of ours that ``run`` reads without having looked right before at who could have written them."""
    node.host.asked.clear()
    run()
    reads = [
        (before, call)
        for before, call in pairwise(node.host.asked)
        if call[0] == "read" and call[1].startswith(own.ROOTS)
    ]
    assert reads
    return {path for before, (_, path) in reads if before != ("check_own", path)}


class FailingReads:
    """A charm's test class derives from it, and has a fixture ``node``."""

    @EVENTS
    def test_each_file_of_ours_is_believed_only_after_a_look_at_its_owner(
        self, node: Any, event: str
    ) -> None:
        self.converge(node)
        found = unchecked(node, lambda: node.emit(event))
        assert found == set(), found

    def converge(self, node: Any) -> None:
        """The way of a charm that needs a reboot; others have their own."""
        node.converge()

    @pytest.mark.parametrize("converged", [True, False])
    @EVENTS
    def test_no_read_of_a_hook_ends_in_a_traceback(self, node: Any, event: str, converged: bool) -> None:
        if converged:
            self.converge(node)
        escaped, calls = escaping(node, lambda: node.emit(event))
        assert escaped == []
        assert calls >= (10 if converged else 2)

    @pytest.mark.parametrize("action", ["plan", "verify"])
    def test_no_read_of_an_action_ends_in_a_traceback(self, node: Any, action: str) -> None:
        self.converge(node)
        escaped, calls = escaping(node, lambda: node.action(action))
        assert escaped == []
        assert calls >= 10

    def test_a_basic_read_that_fails_is_in_the_log(self, node: Any) -> None:
        self.converge(node)

        def hook() -> str:
            node.emit("update_status")
            return node.log

        assert unmentioned(node, hook) == []


class FailingBoot(FailingReads):
    """For a charm whose boot unit is one function: ``boot`` runs it, on a host that has just started."""

    def boot(self, node: Any) -> Any:
        """Return the unit's words on the failure."""
        raise NotImplementedError

    @pytest.fixture
    def booted(self, node: Any) -> Any:
        self.converge(node)
        node.host.reboot()
        return node

    def test_nor_at_boot_is_a_file_of_ours_believed_without_that_look(self, booted: Any) -> None:
        found = unchecked(booted, lambda: self.boot(booted))
        assert found == set(), found

    def test_no_read_at_boot_ends_in_a_traceback(self, booted: Any) -> None:
        escaped, calls = escaping(booted, lambda: self.boot(booted))
        assert escaped == []
        assert calls >= 2

    def test_a_boot_unit_waits_for_another_program_and_then_gives_up(self, booted: Any) -> None:
        booted.host.locks[exclusive.PATH] = 99
        booted.host.trace.clear()
        (trouble,) = self.boot(booted)
        assert trouble.startswith("another program of these charms has been changing this host for 60 s")
        assert [line for line in booted.host.trace if not line.startswith("install /run/")] == []
