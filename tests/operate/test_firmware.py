# SPDX-License-Identifier: Apache-2.0
"""firmware: what runs where against a baseline, and a rollout that ends at the first finding."""

import pytest
from converge import StepError
from lab.openstack.operator import world_in
from operate.emptied import NODE1, NODE2, NODE3, Cloud

OLD, NEW = "22.39.1002", "22.43.2566"
HOSTS = (NODE1, NODE2, NODE3)


@pytest.fixture
def cloud(tmp_path):
    with world_in(tmp_path, "2024.1") as world:
        made = Cloud(world)
        made.nodes.needing = set()
        made.nodes.firmware = {host: {"running": OLD, "flash": OLD, "image": NEW} for host in HOSTS}
        yield made


def running(cloud):
    return [cloud.nodes.firmware[host]["running"] for host in HOSTS]


def test_the_table_says_which_nics_are_behind_ahead_and_wait_for_a_restart(cloud, capsys, tmp_path):
    (tmp_path / "baseline.yaml").write_text(f"MT_0000000359: {NEW}\n")
    cloud.nodes.firmware[NODE2] = {"running": OLD, "flash": NEW, "image": NEW}
    cloud.nodes.firmware[NODE3] = {"running": "22.47.1026", "flash": "22.47.1026", "image": NEW}
    status, said = cloud.typed(capsys, "firmware", "--baseline", "baseline.yaml")
    assert status == 1
    assert [line.split("  ")[0:1] + line.split()[1:] for line in said.splitlines()[1:4]] == [
        ["MT_0000000359", OLD, OLD, NEW, "behind", "nic-firmware/0"],
        ["MT_0000000359", "22.47.1026", "22.47.1026", NEW, "ahead", "nic-firmware/2"],
        ["MT_0000000359", OLD, NEW, NEW, "needs", "a", "restart", "nic-firmware/1"],
    ]
    assert (cloud.nodes.burned, cloud.world.writes()) == ([], [])


def test_without_a_file_the_images_of_the_charm_are_the_baseline(cloud, capsys):
    cloud.nodes.firmware = {host: {"running": NEW, "flash": NEW, "image": NEW} for host in HOSTS}
    status, said = cloud.typed(capsys, "firmware")
    assert status == 0
    assert "as wanted  nic-firmware/0, nic-firmware/1, nic-firmware/2" in said


def test_a_canary_is_burned_and_rebooted_before_the_others_are_burned(cloud, capsys):
    trace = []
    act = cloud.nodes.act

    def traced(unit, action, given):
        if action in ("burn", "approve-reboot"):
            trace.append((action, given.get("unit", unit).partition("/")[2]))
        return act(unit, action, given)

    cloud.nodes.act = traced
    assert cloud.typed(capsys, "firmware", "--apply", "--canary", "node2", "--percent", "70")[0] == 0
    assert trace == [
        *(("burn", "1"), ("approve-reboot", "1"), ("burn", "2"), ("burn", "0")),
        *(("approve-reboot", "2"), ("approve-reboot", "0")),
    ]
    assert running(cloud) == [NEW] * 3
    assert (cloud.nodes.stopped, cloud.nova.disabled) == ([], {})


def test_an_image_with_which_the_canary_does_not_verify_goes_no_further(cloud, capsys):
    cloud.nodes.ill = {NODE3}
    with pytest.raises(StepError, match="sriov-switchdev/2 is back, and verify finds bond0: no VF-LAG"):
        cloud.typed(capsys, "firmware", "--apply", "--canary", "node3")
    assert (cloud.nodes.burned, [*cloud.nova.disabled]) == ([NODE3], [NODE3])


def test_nor_does_one_that_a_reboot_does_not_start(cloud, capsys):
    cloud.nodes.keeps = {NODE3}
    with pytest.raises(StepError, match=f"0000:3b:00 of nic-firmware/2 runs {OLD}, and not {NEW}"):
        cloud.typed(capsys, "firmware", "--apply", "--canary", "node3")
    assert cloud.nodes.burned == [NODE3]


def test_a_downloaded_image_of_another_version_is_found_before_the_reboot(cloud, capsys, tmp_path):
    (tmp_path / "baseline.yaml").write_text(f"MT_0000000359: {NEW}\n")
    act = cloud.nodes.act

    def untold(unit, action, given):
        """The charm downloads an image with the first burn."""
        said = act(unit, action, given)
        if action == "list-firmware" and not cloud.nodes.burned:
            said["results"]["firmware"] = said["results"]["firmware"].replace("22.45.1020", "-")
        return said

    cloud.nodes.act = untold
    for card in cloud.nodes.firmware.values():
        card["image"] = "22.45.1020"
    with pytest.raises(StepError, match=f"has in flash 22.45.1020, and not {NEW}"):
        cloud.typed(capsys, "firmware", "--apply", "--baseline", "baseline.yaml")
    assert (len(cloud.nodes.burned), cloud.nodes.approved, cloud.nova.disabled) == (1, [], {})


@pytest.mark.parametrize("action", ["burn", "approve-reboot"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_rollout_that_breaks_off_is_led_on_by_the_next_run(cloud, capsys, action, number):
    act, left = cloud.nodes.act, iter(range(1, 100))

    def breaking(unit, asked, given):
        if asked == action and next(left) == number:
            raise KeyboardInterrupt
        return act(unit, asked, given)

    cloud.nodes.act = breaking
    with pytest.raises(KeyboardInterrupt):
        cloud.typed(capsys, "firmware", "--apply")
    assert cloud.typed(capsys, "firmware", "--apply")[0] == 0
    assert running(cloud) == [NEW] * 3
    assert (cloud.nodes.stopped, cloud.nova.disabled, sorted(cloud.nodes.burned)) == ([], {}, [*HOSTS])


def test_a_node_that_was_emptied_before_is_rebooted_once_its_charm_asks(cloud, capsys):
    """An interrupted roll has left it without instances, and a burn asks in a hook that comes later."""
    cloud.nodes.hooks = 2
    cloud.nodes.needing = {NODE2}
    act = cloud.nodes.act

    def breaking(unit, asked, given):
        if asked == "approve-reboot":
            raise KeyboardInterrupt
        return act(unit, asked, given)

    cloud.nodes.act = breaking
    with pytest.raises(KeyboardInterrupt):
        cloud.typed(capsys, "roll", "--apply")
    cloud.nodes.act, cloud.nodes.needing = act, set()
    assert [*cloud.nova.disabled] == [NODE2]
    assert cloud.typed(capsys, "firmware", "--apply")[0] == 0
    assert running(cloud) == [NEW] * 3
    assert (cloud.nodes.stopped, cloud.nova.disabled) == ([], {})


def test_going_back_is_the_same_command_with_the_older_image(cloud, capsys):
    cloud.nodes.firmware = {host: {"running": NEW, "flash": NEW, "image": OLD} for host in HOSTS}
    assert cloud.typed(capsys, "firmware", "--apply")[0] == 0
    assert running(cloud) == [OLD] * 3


def test_a_baseline_for_which_the_charm_has_no_image_is_refused_before_a_burn(cloud, capsys, tmp_path):
    (tmp_path / "baseline.yaml").write_text("MT_0000000359: 22.45.1020\n")
    words = f"nic-firmware/0 has image {NEW} for MT_0000000359, and the baseline is 22.45.1020"
    with pytest.raises(StepError, match=words):
        cloud.typed(capsys, "firmware", "--baseline", "baseline.yaml", "--apply")
    assert cloud.nodes.burned == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MT_0000000359: newest", "MT_0000000359: 'newest' is not allowed; expected a version such as"),
        ("- 22.39.1002", "a baseline is a mapping of boards"),
    ],
)
def test_a_baseline_that_is_none_is_refused_in_one_sentence(cloud, capsys, tmp_path, text, said):
    (tmp_path / "baseline.yaml").write_text(text)
    with pytest.raises(StepError, match=said):
        cloud.typed(capsys, "firmware", "--baseline", "baseline.yaml")
