# SPDX-License-Identifier: Apache-2.0
"""Juju's client as every tool of this project calls it: argv, time limits, and failures in one sentence."""

import json

import pytest
from converge import StepError
from operate.client import Juju
from operate.process import NotInstalled, Output


class Client:
    """Notes each call, and answers with one output."""

    def __init__(self, *output):
        self.output, self.calls = Output(*output), []

    def __call__(self, command, given, seconds, *, shown=False):
        self.calls.append((command, seconds, shown))
        return self.output


def test_a_named_model_is_asked_and_reads_are_limited_in_time():
    client = Client(0, '{"applications": {}}')
    assert Juju("maas:openstack", client).data("status", "vault") == {"applications": {}}
    command = ["juju", "status", "-m", "maas:openstack", "--format", "json", "vault"]
    assert client.calls == [(command, 120, False)]


def test_a_command_that_tells_its_progress_may_take_as_long_as_it_needs():
    client = Client(0, "")
    Juju(run=client).call("bootstrap", "maas", "controller", shown=True)
    assert client.calls == [(["juju", "bootstrap", "maas", "controller"], None, True)]


def test_an_action_gets_more_time_than_the_units_may_take():
    client = Client(0, json.dumps({"a/0": {"status": "completed", "results": {"x": "1"}}}))
    assert Juju(run=client).results("a/leader", "go", "k=v") == {"x": "1"}
    words = ["juju", "run", "--format", "json", "a/leader", "go", "k=v", "--wait=600s"]
    assert client.calls == [(words, 630, False)]


def test_what_failed_units_say_is_kept_though_the_client_fails_with_them():
    said = {"a/0": {"status": "failed", "message": "no disk"}, "a/1": {"status": "completed"}}
    juju = Juju(run=Client(1, json.dumps(said), "ERROR the following task failed: a/0"))
    assert juju.act(["a/0", "a/1"], "go") == said
    with pytest.raises(StepError, match="juju run a/0 go: no disk"):
        juju.results("a/0", "go")


def test_a_client_that_fails_without_any_answer_is_quoted():
    juju = Juju(run=Client(1, "", "ERROR could not connect\n"))
    for call in (lambda: juju.act(["a/0"], "go"), lambda: juju.results("a/0", "go")):
        with pytest.raises(StepError, match=r"^juju run a/0 go: could not connect$"):
            call()
    with pytest.raises(StepError, match=r"^juju exec --unit a/0: could not connect$"):
        juju.execute("a/0", "true", wait=5)


def test_a_failure_of_several_lines_is_quoted_from_its_first_one():
    """As without a controller; the client's last line alone says nothing."""
    error = "WARNING slow\nERROR No controllers registered.\n\nPlease create one or\nuse juju register.\n"
    with pytest.raises(StepError) as failed:
        Juju(run=Client(1, "", error)).data("status")
    assert (
        str(failed.value) == "juju status: No controllers registered. Please create one or use juju register"
    )


def test_a_script_goes_through_as_one_word_after_the_options():
    answer = {"a/0": {"results": {"return-code": 0, "stdout": "hi"}}}
    client = Client(0, json.dumps(answer))
    assert Juju("m", client).execute("a/0", "echo hi\n--wait", wait=5) == answer["a/0"]
    ((command, seconds, _),) = client.calls
    assert command[:6] == ["juju", "exec", "-m", "m", "--format", "json"]
    assert command[-2:] == ["--", "echo hi\n--wait"]
    assert seconds == 35


def test_a_machine_without_the_client_is_told_how_to_get_it():
    def missing(*_, **__):
        raise NotInstalled("juju is not installed here")

    with pytest.raises(StepError, match="there is no juju client on this machine") as refused:
        Juju(run=missing).data("status")
    assert "sudo snap install juju" in refused.value.remedy


def test_a_command_whose_progress_was_shown_is_not_quoted_again():
    with pytest.raises(StepError, match="juju bootstrap: see above"):
        Juju(run=Client(1, "", "")).call("bootstrap", shown=True)
