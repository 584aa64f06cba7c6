# SPDX-License-Identifier: Apache-2.0
"""The file with who logs in to the switches: one line for all, and one for each switch that differs."""

import pytest
from yamlfile.logins import of_switches, read

SECRET = "S3cr3t"


def test_the_first_line_is_for_all_and_others_name_their_switch() -> None:
    found = read(f"cumulus:{SECRET}\n\nLeaf0-1 admin:with spaces: and colons \nSpine0  cumulus:x\n")
    assert found.default == ("cumulus", SECRET)
    assert found.others == {"Leaf0-1": ("admin", "with spaces: and colons "), "Spine0": ("cumulus", "x")}


def test_one_line_is_enough() -> None:
    assert read(f"cumulus:{SECRET}\r\n") == (("cumulus", SECRET), {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no value"),
        (" \n", "has no value"),
        (SECRET, "has no line user:password"),
        (f":{SECRET}", "has no line user:password"),
        (f"Leaf0-1 admin:{SECRET}", "has no line user:password"),
        (f"a:b\nadmin:{SECRET}", "has a line 2 that is not NAME user:password"),
        (f"a:b\n\n{SECRET}", "has a line 3 that is not NAME user:password"),
        (f"a:b\nLeaf0-1 :{SECRET}", "has a line 2 that is not NAME user:password"),
        (f"a:b\nLeaf0-1 c:d\nLeaf0-1 e:{SECRET}", "has a line 3 for a switch that has one already"),
    ],
)
def test_another_text_is_refused_without_showing_any_of_it(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="has") as caught:
        read(text)
    assert str(caught.value) == says


def test_a_text_without_a_line_for_all() -> None:
    assert of_switches("Leaf0-1 admin:x\n") == {"Leaf0-1": ("admin", "x")}
    assert of_switches("") == {}
