# SPDX-License-Identifier: Apache-2.0
"""The programs in guests and on this machine: user-data, the tuning script in a real bash, processes."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import hostnic.process
import pytest
import yaml
from acceptance.guests import MODULES, TUNE, user_data
from acceptance.measure.script import GRACE, Run
from acceptance.measure.shells import Ssh
from acceptance.measure.tools import EARLIER, MEASURES
from acceptance.sitefile import SiteFile
from converge import StepError
from lab.openstack import sysfs
from lab.patience import Patience
from operate.client import Juju
from operate.process import Output, process

RUN = Run("33.33.33.11", "33.33.33.10", 5, 20, 18)


def test_user_data_is_what_cloud_init_reads():
    text = user_data(SiteFile())
    assert text.startswith("#cloud-config\n")
    content = yaml.safe_load(text)
    assert {"iperf3", "sysstat", "perftest", "rdmacm-utils"} <= set(content["packages"])
    assert content["write_files"][0]["content"] == TUNE
    assert ["systemctl", "enable", "--now", "offload-tune"] in content["runcmd"]


@pytest.mark.parametrize("there", [True, False])
def test_a_kernel_without_the_packet_generator_gets_it_at_the_first_boot(there, tmp_path, monkeypatch):
    stubs = {
        "modprobe": f'[ "$*" = "-nqa pktgen uio_pci_generic" ] && {str(there).lower()}',
        "uname": "echo 5.15.0-1-kvm",
    }
    for tool, runs in (stubs | {"apt-get": f"echo $* > {tmp_path}/installed"}).items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{runs}\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (command,) = [each for each in yaml.safe_load(user_data(SiteFile()))["runcmd"] if each[-1] == MODULES]
    assert process(command, "", 10).status == 0
    installed = tmp_path / "installed"
    assert there or installed.read_text() == "install -y linux-modules-extra-5.15.0-1-kvm\n"
    assert installed.exists() is not there


def test_an_image_with_cuda_keeps_its_own_perftest():
    assert "perftest" not in yaml.safe_load(user_data(SiteFile(software=("cuda",))))["packages"]


def test_the_tuning_script_tunes_each_vf_and_nothing_else(applied):
    machines = applied.machines
    folder = machines._prepare("vm1", "node1.maas")
    for number, irqs in (("04", (40, 41, 42)), ("05", (50,))):
        device = folder / f"sys/devices/0000:00:{number}.0"
        for irq in irqs:
            (device / "msi_irqs").mkdir(exist_ok=True)
            (device / "msi_irqs" / str(irq)).write_text("msix\n")
            (folder / f"proc/irq/{irq}").mkdir(parents=True)
    (folder / "sys/class/net/ens5/queues/rx-0/rps_flow_cnt").write_text("0\n")
    (folder / "proc/sys/net/core").mkdir(parents=True)
    done = machines._bash("vm1", "node1.maas", TUNE)
    assert done.status == 0, done.error
    assert (folder / "units").read_text() == "stop irqbalance\n"
    assert (folder / "ethtool").read_text().splitlines() == [
        f"{option} {netdev} {value}"
        for netdev in ("ens5", "ens6", "ens7")
        for option, value in (("-L", "combined 20"), ("-K", "ntuple on"))
    ]
    assert (folder / "sys/class/net/ens5/queues/rx-0/rps_flow_cnt").read_text() == "32768\n"
    assert (folder / "proc/sys/net/core/rps_sock_flow_entries").read_text() == "32768\n"
    affinity = {irq: (folder / f"proc/irq/{irq}/smp_affinity_list").read_text() for irq in (40, 41, 42, 50)}
    assert affinity == {40: "0\n", 41: "1\n", 42: "2\n", 50: "0\n"}


def in_a_server(script, folder, **stubs):
    """A script with its paths in this folder, which has the interfaces of a server, and stubs of tools."""
    if not (folder / "sys").exists():
        sysfs.make(folder, (), 9000, node=False)
    printed = "".join(
        f"ens{number} UP {address}/24\n" for number, address in ((5, RUN.server), (8, RUN.client))
    )
    for tool, runs in {"ip": f"echo '{printed}'; echo lladdr fa:16:3e:00:00:04", **stubs}.items():
        (folder / tool).write_text(f"#!/bin/bash\ncd {folder}\n{runs}\n")
        (folder / tool).chmod(0o755)
    return re.sub(r"(?<![\w.])/(sys|tmp|opt)/", rf"{folder}/\1/", script)


@pytest.mark.parametrize("key", MEASURES)
def test_no_server_holds_the_shell_that_starts_it(key, tmp_path, monkeypatch):
    """sshd and Juju wait as long as a process in the background has the shell's output open."""
    (tmp_path / "tmp").mkdir()
    stubs = {"timeout": "exec /bin/sleep 60", "sleep": "[ $1 -le 10 ] || exec /bin/sleep 60"}
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    serve = in_a_server(MEASURES[key].serve(RUN), tmp_path, **stubs)
    assert process(["bash", "-c", serve], "", 40).status == 0


@pytest.mark.parametrize("key", ["tcp-8", "udp-1", "rdma-bw", "rdma-lossy"])
def test_a_server_stays_as_long_as_its_client_is_waited_for(key):
    """The client may take three times GRACE besides the measurement, and Juju a minute to begin it."""
    lives = re.findall(r"timeout (\d+) (?:iperf3|ib_write)", MEASURES[key].serve(RUN))
    assert lives
    assert all(int(each) >= RUN.seconds + 3 * GRACE + 60 for each in lives)


@pytest.mark.parametrize("key", ["tcp-1", "rdma-bw"])
def test_a_server_whose_client_failed_is_not_in_the_way_of_the_next(key, tmp_path, monkeypatch):
    server = "echo $$ > new; mv new begun; exec /bin/sleep 60"
    stubs = {"iperf3": server, "ib_write_bw": server, "sleep": "exec /bin/sleep 0.1"}
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    serve = in_a_server(f"{EARLIER}\n{MEASURES[key].serve(RUN)}", tmp_path, **stubs)
    begun, servers = tmp_path / "begun", list[Path]()
    for _ in range(2):
        assert process(["bash", "-c", serve], "", 40).status == 0
        wait_for(begun)
        servers.append(Path("/proc", begun.read_text().strip()))
        begun.unlink()
    patience = Patience(30)
    while servers[0].exists():
        assert not patience.over()
    assert servers[1].exists()
    process(["bash", "-c", EARLIER], "", 40)


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("way", ["serve", "ask"])
def test_a_virtio_port_goes_to_dpdk_and_back_whatever_testpmd_does(way, status, tmp_path, monkeypatch):
    """The port with the client's address is virtio, here for either end."""
    (tmp_path / "tmp").mkdir()
    stubs = {"ping": "", "sleep": "", "modprobe": "", "dpdk-devbind.py": "echo $* >> bound"}
    stubs |= {"dpdk-testpmd": f"echo $* > ran; echo EAL: No free hugepages; exit {status}"}
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script = getattr(MEASURES["testpmd"], way)(RUN._replace(server=RUN.client))
    done = process(["bash", "-c", in_a_server(script, tmp_path, **stubs)], "", 40)
    assert done.status == (status if way == "ask" else 0), done.error
    assert way == "serve" or not status or done.error == "testpmd: EAL: No free hugepages\n"
    given, returned = "--force --bind=uio_pci_generic 0000:00:07.0", "--bind=virtio-pci 0000:00:07.0"
    patience = Patience(30)
    while (bound := (tmp_path / "bound").read_text().splitlines()) != [given, returned]:
        assert not patience.over(), bound
    assert "-a 0000:00:07.0 -- " in (tmp_path / "ran").read_text()


def test_the_kernel_keeps_an_mlx5_port_that_dpdk_uses(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    stubs = {"ping": "", "sleep": "", "dpdk-testpmd": "echo $* > ran", "dpdk-devbind.py": "echo $* >> bound"}
    script = MEASURES["testpmd"].ask(RUN._replace(client=RUN.server))
    done = process(["bash", "-c", in_a_server(script, tmp_path, **stubs)], "", 40)
    assert done.status == 0, done.error
    assert "-a 0000:00:04.0 -- " in (tmp_path / "ran").read_text()
    assert not (tmp_path / "bound").exists()


def test_dpdks_receiver_outlives_the_generator_and_neither_is_in_the_way_of_the_next(tmp_path, monkeypatch):
    """The next rung needs their huge pages and their locks; here the generator's client fails at once."""
    dpdk = MEASURES["dpdk"]
    (tmp_path / "opt/trex/automation/trex_control_plane/interactive").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    testpmd = "trap 'echo TERM > ended; exit' TERM; echo > begun; while :; do /bin/sleep 0.1; done"
    stubs = {"ping": "", "sleep": "", "python3": "exit 1"}
    stubs |= {"dpdk-testpmd": testpmd, "opt/trex/t-rex-64": f"echo $$ > {tmp_path}/trex; exec /bin/sleep 60"}
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    serve, ask = (in_a_server(script(RUN), tmp_path, **stubs) for script in (dpdk.serve, dpdk.ask))
    lives = [int(re.search(r"timeout (\d+)", script)[1]) for script in (serve, ask)]
    assert lives[0] > lives[1]
    process(["bash", "-c", serve], "", 40)
    wait_for(tmp_path / "begun")
    assert process(["bash", "-c", ask.replace("sleep 20", "/bin/sleep 1")], "", 40).status == 1
    generator = int((tmp_path / "trex").read_text())
    (tmp_path / "begun").unlink()
    process(["bash", "-c", serve], "", 40)
    wait_for(tmp_path / "ended")
    wait_for(tmp_path / "begun")
    assert not Path(f"/proc/{generator}").exists()
    subprocess.run(["pkill", "-x", "dpdk-testpmd"], check=True)


def wait_for(path):
    patience = Patience(30)
    while not path.exists():
        assert not patience.over(), path.name
        time.sleep(0.05)


def test_a_tool_that_is_not_installed():
    with pytest.raises(StepError, match="no-such-tool is not installed here"):
        process(["no-such-tool"], "", 5)


def test_a_tool_that_nobody_may_start(tmp_path):
    with pytest.raises(StepError, match="could not be started: Permission denied"):
        process([str(tmp_path)], "", 5)


def test_a_process_that_takes_too_long():
    with pytest.raises(StepError, match=r"did not end within 0\.2 s"):
        process([sys.executable, "-c", "import time; time.sleep(9)"], "", 0.2)


def test_a_process_that_drips_has_no_more_time():
    code = "import time\nfor _ in range(300): print('x', flush=True); time.sleep(0.1)"
    with pytest.raises(StepError, match="did not end within 1 s"):
        process([sys.executable, "-c", code], "", 1)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_process_that_floods_is_ended_at_the_limit(stream, monkeypatch):
    monkeypatch.setattr(hostnic.process, "MOST", 2**20)
    code = f"import sys\nfor _ in range(16_000): sys.{stream}.write('x' * 65536)\n"
    with pytest.raises(StepError, match=f"^{re.escape(sys.executable)} printed more than 1 MiB$"):
        process([sys.executable, "-c", code], "", 60)


def test_a_process_may_take_its_input_while_it_prints_and_need_not_take_it():
    given = "x" * 10**6
    assert process(["cat"], given, 60) == Output(0, given, "")
    assert process(["true"], given, 60) == Output(0, "", "")
    assert process(["sh", "-c", "printf 'a\\r\\nb'"], "", None) == Output(0, "a\nb", "")


def test_a_process_gets_its_input_and_gives_its_output():
    code = "import sys; print(sys.stdin.read().upper()); sys.exit(3)"
    assert process([sys.executable, "-c", code], "abc", 30) == Output(3, "ABC\n", "")


def test_a_process_that_prints_what_is_no_text():
    """As the banner of a server's sshd in another encoding."""
    code = "import sys; sys.stderr.buffer.write(b'Zutritt f\\xfcr Befugte\\n'); print('abc')"
    assert process([sys.executable, "-c", code], "", 30) == Output(0, "abc\n", "Zutritt f\ufffdr Befugte\n")


def test_a_process_that_shows_its_progress_has_the_terminal(capfd):
    read, write = os.pipe()
    os.write(write, b"yes\n")
    os.close(write)
    code = "import sys; print('sure?', file=sys.stderr); print(sys.stdin.readline())"
    saved = os.dup(0)
    os.dup2(read, 0)
    try:
        output = process([sys.executable, "-c", code], "", 30, shown=True)
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(read)
    assert output == Output(0, "yes\n\n", "")
    assert capfd.readouterr().err == "sure?\n"


def test_a_key_without_its_private_half_is_the_agents(tmp_path):
    calls = []

    def run(command, given, seconds):
        calls.append((command, given))
        return Output(0, "")

    Ssh(run, "vm1", "ubuntu@10.0.0.1", tmp_path / "id", tmp_path / "known").run("true", 5)
    (tmp_path / "id").write_text("")
    Ssh(run, "vm1", "ubuntu@10.0.0.1", tmp_path / "id", tmp_path / "known").run("true", 5)
    assert ["-i" in command for command, _ in calls] == [False, True]
    assert calls[0][1] == "true"


def test_juju_that_prints_no_json():
    with pytest.raises(StepError, match="juju status: no model in focus"):
        Juju(run=lambda *_, **__: Output(1, "", "ERROR no model in focus\n")).data("status")
    with pytest.raises(StepError, match="prints something that is not JSON"):
        Juju(run=lambda *_, **__: Output(0, "hello", "")).data("status")
