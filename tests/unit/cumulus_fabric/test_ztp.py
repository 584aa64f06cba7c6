# SPDX-License-Identifier: Apache-2.0
"""The script for the first boot, run by bash: openssl is real, the rest of the switch is a folder."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from cli import __main__ as cli
from intent.model import Dialect
from output import formats
from unit.cumulus_fabric.fabrics import data, fabric

ADDRESS = "192.0.2.11"

NV = """#!/bin/bash
echo "nv $*" >> "$BOX/calls"
[ "$(wc -l < "$BOX/calls")" != "${FAIL_AT:-}" ] || exit 1
case "$*" in
"show system") ;;
"show system api") [ ! -e "$BOX/old" ] ;;
"set "*) echo "$*" >> "$BOX/pending" ;;
"config apply -y")
    name=$(grep -o 'hostname .*' "$BOX/pending" | tail -1 | cut -d' ' -f2)
    if [ -n "$name" ]; then echo "$name" > "$BOX/name"; fi
    if grep -q 'api state enabled' "$BOX/pending"; then touch "$BOX/listens"; fi
    rm "$BOX/pending"
    touch "$BOX/unsaved" ;;
"config diff startup applied") if [ -e "$BOX/unsaved" ]; then echo "- set:"; fi ;;
"config save") rm -f "$BOX/unsaved" ;;
*) exit 2 ;;
esac
"""

SYSTEMCTL = """#!/bin/bash
echo "systemctl $*" >> "$BOX/calls"
[ "$(wc -l < "$BOX/calls")" != "${FAIL_AT:-}" ] || exit 1
if [ -e "$BOX/etc/nginx/sites-enabled/nvue.conf" ]; then touch "$BOX/listens"; fi
/bin/cp "$BOX/etc/ssl/certs/cumulus.pem" "$BOX/served"
"""

CP = """#!/bin/bash
echo cp >> "$BOX/calls"
[ "$(wc -l < "$BOX/calls")" != "${FAIL_AT:-}" ] || exit 1
exec /bin/cp "$@"
"""

OPENSSL = """#!/bin/bash
if [ "$1" = s_client ]; then
    [ -e "$BOX/listens" ] || exit 1
    cat "$BOX/served"
    exit
fi
case "$1" in req) echo "openssl $1" >> "$BOX/calls" ;; esac
exec REAL "$@"
"""

STUBS = {
    "nv": NV,
    "systemctl": SYSTEMCTL,
    "cp": CP,
    "hostname": '#!/bin/bash\ncat "$BOX/name"\n',
    "logger": "#!/bin/bash\n",
    "sleep": "#!/bin/bash\n",
    "ssh-keygen": '#!/bin/bash\necho "256 SHA256:abc root@switch (ED25519)"\n',
}


class Box:
    """A switch from the factory, as a folder."""

    def __init__(self, folder: Path, *, release: tuple[int, int] = (5, 9)) -> None:
        self.folder = folder
        for name in ("bin", "etc/ssl/certs", "etc/ssl/private", "etc/ssh", "etc/nginx/sites-enabled"):
            (folder / name).mkdir(parents=True)
        (folder / "etc/nginx/sites-available").mkdir()
        real = subprocess.run(["which", "openssl"], check=True, capture_output=True, text=True).stdout.strip()
        for name, text in {**STUBS, "openssl": OPENSSL.replace("REAL", real)}.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        (folder / "name").write_text("cumulus\n")
        (folder / "calls").write_text("")
        (folder / "etc/ssh/ssh_host_ed25519_key.pub").write_text("ssh-ed25519 AAAA")
        words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=cumulus"]
        words += ["-keyout", str(self.key), "-out", str(self.certificate)]
        subprocess.run([real, *words], check=True, capture_output=True)
        self.key.chmod(0o640)
        (folder / "served").write_text(self.certificate.read_text())
        if release < (5, 6):
            (folder / "old").touch()
            (folder / "etc/nginx/sites-available/nvue.conf").write_text("listen localhost:8765 ssl;\n")
        else:
            (folder / "listens").touch()

    @property
    def certificate(self) -> Path:
        return self.folder / "etc/ssl/certs/cumulus.pem"

    @property
    def key(self) -> Path:
        return self.folder / "etc/ssl/private/cumulus.key"

    @property
    def name(self) -> str:
        return (self.folder / "name").read_text().strip()

    @property
    def listens(self) -> bool:
        return (self.folder / "listens").exists()

    def run(self, script: str, fail_at: int = 0) -> subprocess.CompletedProcess[str]:
        (self.folder / "calls").write_text("")
        text = script.replace("/etc/", f"{self.folder}/etc/")
        environment = {**os.environ, "BOX": str(self.folder), "TMPDIR": str(self.folder)}
        environment["PATH"] = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        if fail_at:
            environment["FAIL_AT"] = str(fail_at)
        command = ["bash", "-c", text]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    @property
    def writes(self) -> list[str]:
        return [each for each in self.calls if not each.startswith(("nv show", "nv config diff"))]

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    def serves_its_certificate(self) -> bool:
        return (self.folder / "served").read_text() == self.certificate.read_text()


def script(management: str = ADDRESS, port: int = 8765) -> str:
    def change(content: dict) -> None:
        content["leaves"] |= {"api-port": port}
        content["switches"] = {"Leaf0-1": {"management": management}}

    found = fabric(change=change)
    return formats.write(found, found.switch("Leaf0-1"), Dialect.UNTIL_5_14, formats.ZTP)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_bash_reads_it_and_it_has_the_mark_that_ztp_looks_for(tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(script())
    subprocess.run(["bash", "-n", str(file)], check=True)
    assert script().startswith("#!/bin/bash\n# CUMULUS-AUTOPROVISIONING\n")
    assert "@" not in script().replace('"$@"', "")


def test_a_switch_from_the_factory_gets_name_api_and_a_certificate_of_its_address(box: Box) -> None:
    done = box.run(script())
    assert done.returncode == 0, done.stdout + done.stderr
    assert (box.name, box.listens, box.serves_its_certificate()) == ("Leaf0-1", True, True)
    words = ["openssl", "x509", "-in", str(box.certificate), "-noout"]
    said = subprocess.run([*words, "-checkip", ADDRESS], capture_output=True, text=True, check=True).stdout
    assert "does match" in said
    print_ = subprocess.run([*words, "-fingerprint", "-sha256"], capture_output=True, text=True, check=True)
    assert f"certificate: Leaf0-1={print_.stdout.strip().partition('=')[2]}" in done.stdout
    assert "host key: 256 SHA256:abc" in done.stdout
    assert stat.S_IMODE(box.key.stat().st_mode) == 0o640


def test_a_second_run_writes_nothing(box: Box) -> None:
    assert box.run(script()).returncode == 0
    before = box.certificate.read_text()
    assert box.run(script()).returncode == 0
    assert (box.writes, box.certificate.read_text()) == ([], before)


def test_stopped_at_any_step_the_next_run_finishes_it(tmp_path: Path) -> None:
    whole = Box(tmp_path / "whole")
    whole.run(script())
    for step in range(1, len(whole.calls) + 1):
        box = Box(tmp_path / str(step))
        stopped = box.run(script(), fail_at=step)
        stubbed = whole.calls[step - 1].split()[0] != "openssl"
        assert (stopped.returncode == 0) == (not stubbed or step == 1), step
        assert box.run(script()).returncode == 0
        assert (box.name, box.listens, box.serves_its_certificate()) == ("Leaf0-1", True, True), step
        assert not (box.folder / "unsaved").exists()
        assert box.run(script()).returncode == 0
        assert box.writes == [], step


def test_5_5_has_no_system_api(tmp_path: Path) -> None:
    box = Box(tmp_path, release=(5, 5))
    done = box.run(script())
    assert done.returncode == 0, done.stdout + done.stderr
    assert (box.listens, box.serves_its_certificate()) == (True, True)
    assert "api state" not in " ".join(box.calls)
    site = tmp_path / "etc/nginx/sites-available/nvue.conf"
    assert site.read_text() == "listen [::]:8765 ipv6only=off ssl;\n"
    assert box.run(script()).returncode == 0
    assert box.writes == []


def test_an_api_that_is_off_is_turned_on_at_the_intents_port(box: Box) -> None:
    (box.folder / "listens").unlink()
    assert box.run(script(port=8766)).returncode == 0
    assert "nv set system api port 8766" in box.calls


@pytest.mark.parametrize(
    ("management", "lines"),
    [
        (ADDRESS, ("fixed-address 192.0.2.11;", "dhcp-host=MAC,192.0.2.11,set:Leaf0-1")),
        ("2001:db8::11", ("dhcp-host=MAC,set:Leaf0-1", "subjectAltName=IP:$address")),
        ("leaf.example", ("subjectAltName=DNS:$address", "-checkhost")),
    ],
)
def test_its_head_has_the_options_of_dhcp_that_lead_to_it(management: str, lines: tuple[str, ...]) -> None:
    text = script(management)
    assert 'option cumulus-provision-url "http://SERVER/Leaf0-1.sh"; }' in text
    assert all(line in text for line in lines)


def test_the_command_line_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "intent.yaml"
    content = data()
    content["switches"] = {"Leaf0-1": {"management": ADDRESS}}
    file.write_text(json.dumps(content))
    words = ["render", "--intent", str(file), "--format", "ztp"]
    assert cli.main([*words, "--switch", "Leaf0-1"]) == 0
    assert capsys.readouterr() == (script(), "")
    assert cli.main(words) == 2
    says = "Spine0 has no management address, which its certificate is for: give spines.management\n"
    assert capsys.readouterr() == ("", says)
