# SPDX-License-Identifier: Apache-2.0
"""Units of others with an instance, ``vfs@eno1.service``: the instance says which port they are about."""

import pytest
from unit.sriov_switchdev.foreign import PORT, UNITS, Files
from unit.sriov_switchdev.test_forms_of_writers import concerns_ours, judged

NET, COUNT = "/sys/class/net", "device/sriov_numvfs"
PROGRAM = "/usr/local/bin/vfs"


def templated(started: str, program: str = "", **drop_ins: str) -> Files:
    """``vfs@.service`` enabled for eno1, what it starts, and drop-ins of the ``unit`` or ``template``."""
    files = {
        f"{UNITS}/vfs@.service": f"[Service]\nType=oneshot\n{started}\n",
        f"link {UNITS}/multi-user.target.wants/vfs@eno1.service": f"{UNITS}/vfs@.service",
    }
    if program:
        files[PROGRAM] = f"#!/bin/sh\n{program}\n"
    for of, text in drop_ins.items():
        directory = "vfs@eno1.service.d" if of == "unit" else "vfs@.service.d"
        files[f"{UNITS}/{directory}/more.conf"] = f"[Service]\n{text}\n"
    return files


DIRECT = f"ExecStart=/bin/sh -c 'echo 4 > {NET}/%i/{COUNT}'"
LISTING = f"ExecStartPost=/bin/sh -c 'echo 0 > {NET}/%i/{COUNT}; ls *'"
FORMS = {
    "by itself": templated(DIRECT),
    "with a pattern below the port": templated(
        f"ExecStart=/bin/sh -c 'for vf in {NET}/%i/device/virtfn*; do echo 0 > {NET}/%i/{COUNT}; done'"
    ),
    "by a program": templated(f"ExecStart={PROGRAM} %i", f"echo 4 > {NET}/$1/{COUNT}"),
    "by a program with a pattern below the port": templated(
        f"ExecStart={PROGRAM} %I",
        f'echo 4 > "{NET}/$1/{COUNT}"\nfor vf in {NET}/$1/device/virtfn*; do echo $vf; done',
    ),
    "by a program with a case": templated(
        f"ExecStart={PROGRAM} %i", f"case $1 in\n*) echo 4 > {NET}/$1/{COUNT};;\nesac"
    ),
    "by a program's environment": templated(
        f"Environment=PF=%i\nExecStart={PROGRAM}", f"echo 4 > {NET}/$PF/{COUNT}; ls $PF*"
    ),
    "by the part after the last dash": templated(f"ExecStart=/bin/sh -c 'echo 4 > {NET}/%j/{COUNT}; ls *'"),
    "by a drop-in of the unit": templated(DIRECT, unit=LISTING),
    "by a drop-in of the template": templated(DIRECT, template=LISTING),
}


@pytest.mark.parametrize("form", FORMS)
def test_another_port_is_none_of_our_business(form: str) -> None:
    assert not concerns_ours(judged(FORMS[form]).vf_writers)


@pytest.mark.parametrize("form", FORMS)
def test_our_port_is_found(form: str) -> None:
    ours = {path.replace("eno1", PORT): text for path, text in FORMS[form].items()}
    assert concerns_ours(judged(ours).vf_writers)


@pytest.mark.parametrize(
    "program",
    [
        f"for pf in {NET}/*; do echo 4 > $pf/{COUNT}; done",
        f"for pf in {NET}/en*/; do echo 4 > $pf{COUNT}; done",
        f"for pf in $(ls {NET}); do echo 4 > {NET}/$pf/{COUNT}; done",
    ],
)
def test_a_program_that_looks_for_more_ports_than_its_own_may_mean_ours(program: str) -> None:
    assert concerns_ours(judged(templated(f"ExecStart={PROGRAM} %i", program)).vf_writers)
