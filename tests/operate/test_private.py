# SPDX-License-Identifier: Apache-2.0
"""Files with secrets, and sentences without them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from converge import StepError
from operate import private

ROOT = Path(__file__).parents[2]
PASSING = """
import sys, time
from operate import private
with private.passing("password: secret"):
    print("there", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (tmp_path / private.SNAP).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_signal_leaves_a_file(home, number):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/lib:{ROOT}/tools"}
    command = [sys.executable, "-c", PASSING]
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts what runs in its background with SIGINT ignored, and so would be this process.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        assert process.stdout.readline() == b"there\n"
        (file,) = (home / private.SNAP).iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        process.send_signal(number)
        process.wait()
    assert process.returncode != 0
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_the_file_is_never_in_the_working_directory(home):
    with private.passing("password: secret") as path:
        assert Path(path).parent == home / private.SNAP
        assert [each for each in home.iterdir() if each.is_file()] == []
    assert not Path(path).exists()


def test_without_the_snap_it_is_in_the_runtime_folder(home, monkeypatch, tmp_path):
    (home / private.SNAP).rmdir()
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    with private.passing("x") as path:
        assert Path(path).parent == tmp_path / "run"


def test_a_file_that_cannot_be_replaced_stays_as_it_was(home, monkeypatch):
    target = home / "clouds.yaml"
    target.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StepError, match=r"clouds\.yaml cannot be written: No space left on device"):
        private.replace(target, "new")
    assert [path.name for path in home.iterdir() if path.is_file()] == ["clouds.yaml"]
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("calvin", 'power_pass: "calvin" is too short'),
        ("p&ss/w d", "power_pass=p%26ss%2Fw+d&x"),
        ('quo"te\n', 'it has "quo\\"te"'),
        ("<b>&co", "in HTML &lt;b&gt;&amp;co"),
    ],
)
def test_a_secret_is_hidden_in_every_form(secret, text):
    private.keep(secret)
    said = private.without(text)
    assert "***" in said
    assert secret.strip() not in said


def test_a_short_secret_does_not_hide_parts_of_words():
    private.keep("root")
    assert private.without("the rootfs of root") == "the rootfs of ***"
