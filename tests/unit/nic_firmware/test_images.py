# SPDX-License-Identifier: Apache-2.0
"""Images on disk survive power cuts and damage; downloads and archives take a limited time and room."""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import digests
import images
import pytest
from hostnic import download
from hostnic.download import PROGRAM
from lab.modelled.nic.flash import image, lose_power
from unit.nic_firmware.images import NEW, URL, flash, offer, spawned
from unit.nic_firmware.node import RESOURCE, Node, rdg

ROOT = Path(__file__).parents[3]
DOCUMENTS = ("SECURITY.md", "docs/explanation/firmware-images.md")
DIGEST = hashlib.sha256(image()).hexdigest()
INDEX = f"{images.DIRECTORY}/{DIGEST}.json"
KEPT = f"{images.DIRECTORY}/{DIGEST}/image.bin"
BROKEN = "-E- Burning FS4 image failed: flash is write protected\n"


@pytest.fixture
def fetched(node: Node) -> Node:
    """A unit that has fetched the image, and whose burn was refused."""
    node.host.flash.breaks = BROKEN
    offer(node, firmware_policy="auto").emit()
    assert flash(node)[0] != NEW
    assert KEPT in node.host.disk.content
    return node


def test_images_are_durable_before_the_index_names_them(fetched: Node) -> None:
    order = [line for line in fetched.writes if line.startswith(("run cp", "run sync")) or INDEX in line]
    assert [line.split()[:2] for line in order] == [["run", "cp"], ["run", "sync"], ["install", INDEX]]
    assert order[1] == f"run sync {KEPT} {images.DIRECTORY}/{DIGEST}", "its entry in the directory, too"


def test_a_zip_is_unpacked_into_a_directory_with_a_mode_of_its_own(node: Node) -> None:
    """Python's zipfile would make one as the umask of the hook says."""
    archive = b"PK\n" + image()
    offer(node, archive, firmware_policy="auto").emit()
    directory = f"{images.DIRECTORY}/{hashlib.sha256(archive).hexdigest()}"
    order = [line for line in node.writes if line.endswith(f" {directory}") and "sync" not in line]
    assert order[0] == f"run install -d -m 755 {directory}"
    assert [line.split()[1:5] for line in order[1:]] == [["python3", "-m", "zipfile", "-e"]]


def test_power_is_cut_right_after_the_fetch(fetched: Node) -> None:
    lose_power(fetched.host)
    fetched.emit()
    assert flash(fetched)[0] == NEW
    assert not spawned(fetched, PROGRAM), "the image was durable"


def burned(node: Node, **options: object) -> Node:
    """A unit whose image is in flash and runs: nothing is left to do."""
    offer(node, firmware_policy="auto", reboot_policy="always", **options)
    node.emit()
    node.boot()
    assert flash(node) == (NEW, NEW)
    return node


def digests_read(node: Node) -> list[tuple[str, ...]]:
    return spawned(node, "sha256sum")


def test_an_idle_hook_reads_no_image(node: Node) -> None:
    burned(node).emit("update_status")
    assert digests_read(node) == []
    assert node.writes == []


def test_an_idle_hook_reads_no_resource(node: Node) -> None:
    node.host.disk.install(RESOURCE, image(), 0o600)
    given = {"firmware-url": "", "firmware-sha256": ""}
    burned(node, **given).emit("update_status")
    assert digests_read(node) == []
    assert node.writes == []
    node.host.disk.install(RESOURCE, image(version="22.40.1000"), 0o600)
    node.emit()
    assert flash(node)[0] == "22.40.1000", "another file was attached"


def test_an_idle_hook_reads_no_empty_resource(node: Node) -> None:
    node.host.disk.install(RESOURCE, b"", 0o600)
    rdg(node.host)
    node.configure(firmware_policy="auto").emit()
    assert digests_read(node) == [("sha256sum", RESOURCE)]
    node.emit()
    assert digests_read(node) == []


def test_a_resource_with_another_digest_than_the_option_is_refused(node: Node) -> None:
    """The option without firmware-url says which file the operator means to have attached."""
    node.host.disk.install(RESOURCE, image(), 0o600)
    before, refused = flash(node), f"the image has sha256 {DIGEST}, not {'0' * 64}"
    given = {"firmware-url": "", "firmware-sha256": "0" * 64}

    offer(node, firmware_policy="auto", reboot_policy="always", **given)
    assert node.emit().name == "blocked"
    assert refused in node.log
    with pytest.raises(Exception, match=refused):
        node.action("burn")
    assert flash(node) == before
    assert node.host.flash.begun == []

    offer(node, firmware_policy="auto", **{**given, "firmware-sha256": DIGEST})
    node.emit()
    assert flash(node)[0] == NEW


def test_an_image_that_was_touched_is_read_once(node: Node) -> None:
    burned(node)
    node.host.disk.content[KEPT] = image()
    node.emit()
    assert digests_read(node) == [("sha256sum", KEPT)]
    assert not spawned(node, PROGRAM)
    node.emit()
    assert digests_read(node) == []


@pytest.mark.parametrize(
    "memory",
    ["", "{", "[" * 100_000, "9" * 5000, "null", "[]", "[1]", '{"a": 1}', '{"a": []}', '{"a": [1, 2, 3]}',
     '{"a": [1, 2, "x", "y"]}', '{"a": [1, 2, 3, "y", 5]}', "\udcff", None],
)  # fmt: skip
def test_what_is_not_remembered_is_read_again(node: Node, memory: str | None) -> None:
    burned(node)
    if memory is None:
        node.host.disk.remove(digests.PATH)
    else:
        node.host.disk.content[digests.PATH] = memory.encode("utf-8", "surrogateescape")
    node.emit()
    assert digests_read(node) == [("sha256sum", KEPT)]
    node.emit()
    assert digests_read(node) == []


def test_a_disk_that_decays_is_noticed_right_before_a_burn(fetched: Node) -> None:
    fetched.host.disk.content.decay(KEPT, image()[:-1] + b"?")
    assert fetched.emit().name == "blocked"
    assert f"{KEPT} is damaged: its sha256 is" in fetched.log
    assert flash(fetched)[0] != NEW
    assert len(fetched.host.flash.begun) == 1, "only the one that was refused"
    fetched.emit()
    assert spawned(fetched, PROGRAM)
    assert flash(fetched)[0] == NEW


def test_the_action_burns_no_damaged_image_and_fetches_it_when_it_runs_again(node: Node) -> None:
    offer(node)
    node.host.flash.breaks = BROKEN
    node.failure("burn")
    node.host.disk.content.decay(KEPT, image()[:-1] + b"?")
    assert "the next hook, or action burn, fetches it again" in node.failure("burn")
    assert node.action("burn")["burned"] == f"burn firmware {NEW} into 3b:00"


@pytest.mark.parametrize("content", [b"", b"FW MT_0000000359 22.39.1002 ", None])
def test_a_damaged_image_is_fetched_again(fetched: Node, content: bytes | None) -> None:
    if content is None:
        fetched.host.disk.remove(KEPT)
    else:
        fetched.host.disk.content[KEPT] = content
    fetched.emit()
    assert spawned(fetched, PROGRAM)
    assert flash(fetched)[0] == NEW


@pytest.mark.parametrize(
    "index", ["", "[" * 100_000, '[["a", "b"]]', json.dumps([[KEPT, "", NEW, DIGEST]]), "\udcff"]
)
def test_a_malformed_index_is_replaced(fetched: Node, index: str) -> None:
    fetched.host.disk.content[INDEX] = index.encode("utf-8", "surrogateescape")
    fetched.emit()
    assert flash(fetched)[0] == NEW
    assert json.loads(fetched.host.disk.content[INDEX]) == [[KEPT, "MT_0000000359", NEW, DIGEST]]


@pytest.mark.parametrize("place", [f"{images.DIRECTORY}/{DIGEST}/below/fw.bin", "/tmp/fw.bin"])
def test_an_index_names_images_of_its_own_directory_only(fetched: Node, place: str) -> None:
    fetched.host.disk.install(place, image(), 0o600)
    row = [place, "MT_0000000359", NEW, DIGEST]
    fetched.host.disk.content[INDEX] = json.dumps([row]).encode()
    fetched.emit()
    assert json.loads(fetched.host.disk.content[INDEX]) == [[KEPT, "MT_0000000359", NEW, DIGEST]]


def test_a_download_goes_on_in_the_next_hook_and_one_reboot_serves_all(node: Node) -> None:
    node.host.flash.speed = 10
    offer(node, firmware_policy="auto", reboot_policy="always", parameters="ATS_ENABLED=1")
    said = [node.emit(), node.emit()]
    assert [status.name for status in said] == ["waiting", "waiting"]
    assert "download of firmware: 0 MB have arrived; the next hook continues it" in node.log
    assert node.wakes_in_a_minute
    assert node.reboots_asked == 0
    node.emit()
    assert flash(node)[0] == NEW
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert not any(name.endswith(".part") for name in node.host.disk.content)


def test_a_download_is_given_less_than_two_minutes(node: Node) -> None:
    offer(node, firmware_policy="auto").emit()
    seconds = float(spawned(node, PROGRAM)[0][-1])
    assert seconds + images.OVERTIME_S <= images.FETCH_S <= 120


@pytest.mark.parametrize("archive", [image(), b"PK\n" + image()], ids=["image", "zip"])
def test_what_follows_a_download_ends_within_the_two_minutes_too(
    node: Node, archive: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command that copies or unpacks may take what is left, at least a second."""
    offer(node, archive, firmware_policy="auto")
    given: dict[str, float] = {}
    began = node.host.now()
    for name in ("run", "query"):
        real = getattr(node.host, name)

        def ask(argv: list[str], timeout: float = 60.0, real: Any = real, **standard_input: str) -> str:
            words = " ".join(argv)
            if PROGRAM in words:
                node.host.sleep(images.FETCH_S - 30)
            if any(word in words for word in ("cp ", "zipfile", "install -d", "sync ")):
                given[words.split("/")[0]] = node.host.now() + timeout - began
            return real(argv, timeout, **standard_input)

        monkeypatch.setattr(node.host, name, ask)
    node.emit()
    assert len(given) == (3 if archive == image() else 4)
    assert {round(end) for end in given.values()} == {images.FETCH_S}
    assert flash(node)[0] == NEW


def test_a_download_without_content_is_named(node: Node) -> None:
    offer(node, firmware_policy="auto")
    node.host.flash.web[URL] = b""
    assert node.emit().name == "blocked"
    assert f"the image has sha256 {images.WITHOUT_CONTENT}, not {DIGEST}" in node.log


def test_an_action_continues_a_download_when_it_runs_again(node: Node) -> None:
    node.host.flash.speed = 20
    offer(node).emit()
    assert "run the action again, which continues the download" in node.failure("burn")
    assert node.action("burn")["burned"] == f"burn firmware {NEW} into 3b:00"


def test_a_download_with_another_digest_starts_again(node: Node) -> None:
    offer(node, firmware_policy="auto")
    right, node.host.flash.web[URL] = node.host.flash.web[URL], b"an error page"
    assert node.emit().name == "blocked"
    node.host.flash.web[URL] = right
    node.emit()
    assert flash(node)[0] == NEW


def test_a_download_is_not_written_through_a_link(node: Node) -> None:
    offer(node, firmware_policy="auto")
    node.host.disk.install("/etc/theirs", b"", 0o644)
    node.host.disk.link(f"{images.DIRECTORY}/{DIGEST}{images.PART}", "/etc/theirs")
    node.emit()
    assert flash(node)[0] == NEW
    assert node.host.files.read("/etc/theirs") == ""


def test_an_archive_is_not_unpacked_into_a_directory_of_another_user(node: Node) -> None:
    """They could have put a link there with the name of an image."""
    archive = b"PK\n" + image()
    directory = f"{images.DIRECTORY}/{hashlib.sha256(archive).hexdigest()}"
    node.host.disk.install(f"{directory}/other", b"", 0o644)
    node.host.disk.give(directory, 1000)
    offer(node, archive, firmware_policy="auto").emit()
    assert flash(node)[0] != NEW
    assert not spawned(node, "-e", directory)
    assert f"{directory} belongs to user 1000" in node.log


def test_a_nic_without_a_psid_gets_no_image(node: Node) -> None:
    node.host.cards[0].psid = ""
    offer(node, firmware_policy="auto").emit()
    assert node.host.flash.begun == []
    assert "the image is for MT_0000000359, and flash of the NIC has no PSID" in node.findings()


def test_an_archive_that_would_fill_the_disk_is_not_unpacked(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = b"PK\n" + image()
    offer(node, archive, firmware_policy="auto")
    node.host.flash.room = images.FREE + len(image()) - 1
    assert node.emit().name == "blocked"
    assert "has 1024 MiB of room: 0 MiB do not fit, since 1024 MiB have to stay free; make room" in node.log
    node.host.flash.room += 1
    with monkeypatch.context() as smaller:
        smaller.setattr(images, "MOST", len(image()) - 1)
        assert node.emit().name == "blocked"
    assert f"the images have 0 MiB, and may have 0 MiB; {images.FEWER}" in node.log
    assert not spawned(node, "zipfile", "-e")
    node.emit()
    assert flash(node)[0] == NEW


def test_an_archive_of_thousands_of_files_is_not_unpacked(node: Node) -> None:
    archive = b"PK\n" + b"\n" * 1000 + image()
    offer(node, archive, firmware_policy="auto")
    assert node.emit().name == "blocked"
    assert f"the archive has 1001 files, and may have 1000; {images.FEWER}" in node.log
    assert not spawned(node, "zipfile", "-e")


def test_a_lone_image_is_not_copied_onto_a_full_disk(node: Node) -> None:
    offer(node, firmware_policy="auto")
    node.host.flash.room = images.FREE
    assert node.emit().name == "blocked"
    assert "1024 MiB have to stay free" in node.log
    assert not spawned(node, "cp")


def test_what_zipfile_lists_is_all_that_it_unpacks(tmp_path: Path) -> None:
    """The model's listing is Python's, and an archive that lies about a size unpacks no more than it says."""
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("fw-0.bin", b"x" * 1_000_000)
    lying = archive.read_bytes().replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    archive.write_bytes(lying)
    said = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", archive], capture_output=True, text=True, check=True
    ).stdout
    assert re.findall(r" ([0-9]+)$", said, re.MULTILINE) == ["10"]
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", archive, tmp_path], capture_output=True, check=False
    )
    assert (tmp_path / "fw-0.bin").stat().st_size <= 10


def test_the_documents_name_the_limits() -> None:
    security, page = (" ".join((ROOT / name).read_text().split()) for name in DOCUMENTS)
    most, unpacked, free = (f"{number >> 20} MiB" for number in (download.MOST, images.MOST, download.FREE))
    row = f"{most}, which unpack to {unpacked} at most; {free} of the file system stay free"
    assert f"| the file at `firmware-url` | {row} | {images.DOWNLOAD_S:g} s in each hook" in security
    assert f"A file may have {most}, and an archive may unpack to {unpacked} in {images.MOST_FILES} f" in page
    assert f"At least {free} of the file system stay free" in page
