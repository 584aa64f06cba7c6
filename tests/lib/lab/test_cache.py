# SPDX-License-Identifier: Apache-2.0
"""The lab's cache on a host whose trees need different recipes at one time."""

import os

import pytest
from lab import store


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return store.folder()


def _made(cache, name, at):
    (cache / name).write_text("")
    os.utime(cache / name, (at, at))
    return cache / name


def test_the_newest_of_the_earlier_recipes_stay(cache):
    oldest, *_newer = [_made(cache, f"base-a-{at}.tar", at) for at in (1, 2, 3)]
    _made(cache, "base-b-0.tar", 0)
    assert store.earlier("base-a-*.tar") == [oldest]


def test_the_current_recipe_stays_even_when_it_is_the_oldest(cache):
    current, second, *_newest = [_made(cache, f"base-{at}.tar", at) for at in (1, 2, 3, 4)]
    assert store.earlier("base-*.tar", current) == [second]
