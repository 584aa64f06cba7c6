# SPDX-License-Identifier: Apache-2.0
"""A wrong site file, secret or key is refused in one sentence, and no secret is shown."""

from pathlib import Path

import pytest
import yaml
from lab.maassite import PASSWORD, edit, writes

WRONG = yaml.safe_load((Path(__file__).parent / "wrong.yaml").read_text())


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["says"])
def test_a_wrong_site_is_named_in_one_sentence(site, run, case):
    edit(site, case["old"], case["new"])
    said = run("plan", expected=2)
    assert case["says"] in said
    assert PASSWORD not in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dns: [8.8.8.8]", "the key dns stands twice in one mapping; remove or rename one of them."),
        ("\tother: 1", "this is not YAML: found character '\\t' that cannot start any token."),
        ("other: 1", "other: 'other' is not allowed; expected only the keys maas, api-key, dns, fabric,"),
    ],
    ids=["a second key", "a tab", "an unknown key"],
)
def test_a_site_file_is_refused_with_file_and_line(site, run, text, said):
    before = site.read_text()
    site.write_text(f"{before}{text}\n")
    assert f"{site}:{before.count(chr(10)) + 1}: {said}" in run("plan", expected=2)


def test_secrets_that_others_can_read_are_refused(tmp_path, run):
    (tmp_path / "maas-api-key").chmod(0o644)
    assert f"{tmp_path}/maas-api-key can be read by others; run chmod 600" in run("plan", expected=2)


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "has no value"), (" \n\n", "has no value"), ("one\ntwo\n", "has more than one line")],
)
@pytest.mark.parametrize("name", ["maas-api-key", "bmc-user", "bmc-password"])
def test_a_secret_that_is_no_line_is_refused_before_anything_is_written(
    tmp_path, run, maas, name, text, says
):
    (tmp_path / name).write_text(text)
    assert (
        run("apply", expected=2) == f"{tmp_path}/{name} {says}; write the value into it, as its only line\n"
    )
    assert writes(maas) == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("one:two:three", "; copy the whole API key of an administrator: sudo maas apikey --username NAME"),
        ("nonsense", "the API key does not have three parts"),
    ],
)
def test_a_wrong_key(tmp_path, run, key, says):
    (tmp_path / "maas-api-key").write_text(key)
    assert says in run("plan", expected=2)
