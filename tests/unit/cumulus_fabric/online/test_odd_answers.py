# SPDX-License-Identifier: Apache-2.0
"""An answer with a value of another type ends nothing that uses it in a traceback.

Each answer that a switch gives to what only reads is tried: what was read goes to plan, verify, drain,
rollback, the record and the exporter. With FUZZ_EXAMPLES each place of an answer has each of these values.
"""

import json
from itertools import islice

from unit.cumulus_fabric.online.answers import Answers, odd, use


def test_no_odd_answer_of_a_switch_ends_what_uses_it_in_a_traceback() -> None:
    answers = Answers()
    assert len(answers.own) >= 10
    failed: list[str] = []
    for target, (_, content) in answers.own.items():
        for what, changed in odd(json.loads(content or b"{}")):
            site = answers.site(target, json.dumps(changed).encode())
            try:
                use(site, site.survey(state=True))
            except Exception as error:
                failed.append(f"{target[1]} {what}: {type(error).__name__}: {error}")
    assert [*islice(failed, 10)] == []
