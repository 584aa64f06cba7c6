# SPDX-License-Identifier: Apache-2.0
"""Each rule bites: broken bundles, and what the checker says of each, at its line."""

import re
from pathlib import Path

import pytest
import yaml
from check import checker
from check.model import charm_name
from check.rule import RULES
from maas.sitefile.reader import read_site

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "bundles/ovn-offload-jammy-yoga.yaml"
SITE = ROOT / "tools/maas/site-example.yaml"
CASES = yaml.safe_load((Path(__file__).parent / "broken.yaml").read_text())
SOUND = yaml.safe_load((Path(__file__).parent / "sound.yaml").read_text())


@pytest.fixture
def broken(tmp_path):
    """Write the files of a case and return its bundle."""

    def write(case):
        text = _replaced(GOOD.read_text(), case.get("replace", {}))
        (tmp_path / "charms").symlink_to(ROOT / "charms")
        (tmp_path / "bundles").mkdir()
        paths = [tmp_path / "bundles/bundle.yaml"]
        paths[0].write_text(text)
        if "overlay" in case:
            paths.append(tmp_path / "overlay.yaml")
            paths[1].write_text(case["overlay"])
        (tmp_path / "site.yaml").write_text(_replaced(SITE.read_text(), case.get("site", {})))
        return checker.load(paths, read_site(tmp_path / "site.yaml"))

    return write


def _replaced(text, changes):
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="session")
def accepted():
    """The findings in the bundle as it is."""
    return {finding.what for finding in checker.check(checker.load([GOOD], read_site(SITE)))}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}: {case['case']}")
def test_a_broken_bundle_is_found_at_its_line_and_nothing_else_is(case, broken, accepted):
    found = [finding for finding in checker.check(broken(case)) if finding.what not in accepted]
    # The bundle's own finding of this rule has other words where a case moves machines.
    found = [each for each in found if each.rule != "quorum-lock" or case["rule"] == "quorum-lock"]
    matching = [finding for finding in found if finding.rule == case["rule"] and case["says"] in str(finding)]
    assert matching, "\n".join(map(str, found))
    assert {finding.rule for finding in found} == {case["rule"], *case.get("also", ())}
    if "at" in case:
        file, line = matching[0].place.file, matching[0].place.line
        assert Path(file).read_text().splitlines()[line - 1].strip().removeprefix("- ") == case["at"]
    for finding in found:
        assert re.fullmatch(r"/\S+\.yaml:\d+: (warning: )?[a-z-]+: .+\. [A-Z].+\.", str(finding))


@pytest.mark.parametrize("case", SOUND, ids=lambda case: case["case"])
def test_what_other_sites_have_is_no_error(case, tmp_path):
    (tmp_path / "charms").symlink_to(ROOT / "charms")
    (tmp_path / "bundles").mkdir()
    paths = [tmp_path / "bundles/bundle.yaml", tmp_path / "overlay.yaml"]
    text = (ROOT / "bundles/ovn-offload-jammy-caracal.yaml").read_text()
    paths[0].write_text(_replaced(text, case.get("replace", {})))
    paths[1].write_text(case.get("overlay", ""))
    site = None
    if "site" in case:
        (tmp_path / "site.yaml").write_text(_replaced(SITE.read_text(), case["site"]))
        site = read_site(tmp_path / "site.yaml")
    found = checker.check(checker.load(paths, site))
    assert [str(finding) for finding in found if not finding.warning] == []
    assert {finding.rule for finding in found} - {"quorum-lock"} == set(case.get("warns", ()))


OTHER_SWITCHES = """networks:
  storage-space: {fabric: fabric-storage, vid: 7, vlan: v7, mtu: 9600, subnet: storage, cidr: 172.20.0.0/24}
"""


def test_networks_on_other_switches_are_not_compared_with_the_intent(broken):
    bundle = broken({"site": {"networks:\n  oam": f"{OTHER_SWITCHES}  oam"}})
    assert {finding.rule for finding in checker.check(bundle)}.isdisjoint({"fabric-mtu", "fabric-space"})


EXPORTED = [
    pytest.param("./charms/sriov-switchdev", id="folder"),
    pytest.param("../build/sriov-switchdev_ubuntu@22.04-amd64.charm", id="file"),
    pytest.param("local:sriov-switchdev-0", id="as Juju exports a charm from a file"),
    pytest.param("ch:amd64/jammy/sriov-switchdev-12", id="with architecture, series and revision"),
    pytest.param("sriov-switchdev", id="from Charmhub"),
]


@pytest.mark.parametrize("charm", EXPORTED)
def test_a_charm_is_known_by_each_of_its_names(charm):
    assert charm_name(charm) == "sriov-switchdev"


def test_a_series_hides_no_error(broken):
    changes = {"default-base: ubuntu@22.04/stable": "series: jammy", "vf-lag: required": "vf-lag: always"}
    assert {finding.rule for finding in checker.check(broken({"replace": changes}))} >= {"option-value"}


@pytest.mark.parametrize(
    ("overlay", "silenced"),
    [
        ("num-vfs: 80 # ignore vf-lag-count: our firmware forms VF-LAG with 127", True),
        ("# ignore vf-lag-count: our firmware forms VF-LAG with 127\n        num-vfs: 80", True),
        ("num-vfs: 80 # ignore vf-lag-count:", False),
        ("num-vfs: 80 # ignore vf-count: another rule", False),
    ],
)
def test_a_comment_with_a_reason_silences_one_rule_for_one_line(tmp_path, capsys, overlay, silenced):
    path = tmp_path / "mine.yaml"
    path.write_text(f"""\
applications:
  nic-firmware: {{options: {{num-vfs: 80}}}}
  sriov-switchdev:
    options:
        {overlay}
""")
    assert checker.main([str(GOOD), "--overlay", str(path)]) == 0
    said = capsys.readouterr().out
    assert ("vf-lag-count:" in said, ", 1 silenced." in said) == (not silenced, silenced)


def test_every_rule_has_a_broken_bundle():
    assert {rule.name for rule in RULES} == {case["rule"] for case in CASES}
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_the_command_line_checks_a_users_files(tmp_path, capsys):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("applications: {sriov-switchdev: {options: {num-vfs: 16}}}\n")
    assert checker.main([str(GOOD), "--overlay", str(overlay), "--site", str(SITE)]) == 1
    assert "vf-count: sriov-switchdev wants 16 VFs per port" in capsys.readouterr().out


def test_without_a_bundle_each_of_the_repository_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert checker.main([]) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.endswith(".yaml:")] == [
        f"{path.name}:" for path in sorted(checker.BUNDLES.glob("*.yaml"))
    ]


def test_the_rules_are_listed(capsys):
    assert checker.main(["--rules"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == sorted(
        rule.name for rule in RULES
    )


def test_without_a_site_it_says_what_was_not_checked(capsys):
    assert checker.main([str(GOOD)]) == 0
    (said,) = re.findall(r"Not checked without --site: (.*)\.$", capsys.readouterr().out, re.MULTILINE)
    assert set(said.split(", ")) == {rule.name for rule in RULES if rule.site}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("applications: [", "1: this is not YAML"),
        ("- a\n- b\n", "a bundle is a mapping"),
        ("", "There is no bundle"),
        (
            "maas: http://192.168.25.1:5240/MAAS\nnetworks: {}\n",
            "bundle.yaml is a site file for MAAS, and no part of a bundle: name it with --site",
        ),
        ("machines: {}\n", "bundle.yaml has no applications"),
        (
            "applications: {ovn-chassis: {options: {sriov-numvfs: auto}}}\n",
            "bundle.yaml has no charm of ovn-chassis, so that it is an overlay: name its bundle before it",
        ),
        ("applications: {a: {options: {b: include-file://none}}}", "include-file://none cannot be read"),
    ],
)
def test_a_file_that_is_no_bundle_is_said_in_one_sentence(tmp_path, capsys, text, says):
    path = tmp_path / "bundle.yaml"
    path.write_text(text)
    assert checker.main([str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_the_site_file_as_an_overlay_is_said_to_be_one(tmp_path, capsys):
    path = tmp_path / "site.yaml"
    path.write_text("maas: http://192.168.25.1:5240/MAAS\nnetworks: {}\nmachines: {node1: {tag: juju}}\n")
    assert checker.main([str(GOOD), "--overlay", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "`tox -e maas -- overlay` writes the overlay from it" in said.err


def test_a_file_that_is_not_there(capsys):
    assert checker.main(["none.yaml"]) == 2
    assert capsys.readouterr().err == "none.yaml cannot be read: No such file or directory.\n"


@pytest.mark.parametrize("listed", ["eno1:4", "eno1:4 eno2:4"])
@pytest.mark.parametrize("devices", ["auto", "enp63s0f0 enp63s0f1"])
def test_ovn_chassis_may_have_vfs_of_other_nics(broken, listed, devices):
    overlay = (
        f'applications: {{sriov-switchdev: {{options: {{devices: "{devices}"}}}}, '
        f'ovn-chassis: {{options: {{sriov-numvfs: "{listed}"}}}}}}'
    )
    found = checker.check(broken({"overlay": overlay}))
    assert not [finding for finding in found if finding.rule == "vf-owner"]


def test_a_sentence_names_the_first_of_many_machines(broken):
    machines = "".join(f"  '{number}': {{}}\n" for number in range(256))
    overlay = f"machines:\n{machines}applications:\n  vault: {{to: ['lxd:0']}}\n"
    found = checker.check(broken({"overlay": overlay}))
    (said,) = {each.instead for each in found if each.rule == "reboot-vault"}
    assert said.startswith("Place it on machine 10, 100, 101, ")
    assert said.endswith(" and 242 more")


def test_what_juju_says_itself_is_left_to_its_dry_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my bundle.yaml", "overlay.yaml"):
        (tmp_path / name).write_text(
            "applications: {glance: {charm: glance, num_units: 1, to: [keystone]}}\n"
        )
    checker.main(["my bundle.yaml", "--overlay", "overlay.yaml", "--overlay", f"{tmp_path}/overlay.yaml"])
    command = (
        f"juju deploy --dry-run './my bundle.yaml' --overlay ./overlay.yaml --overlay {tmp_path}/overlay.yaml"
    )
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"Juju says the rest before it deploys anything: {command}"
