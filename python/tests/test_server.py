"""How the program is found, checked, started and ended: every claim is a test's name."""

import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from coracle import BinaryError, Options, Server, StartError, binary


def script(folder, text, mode=0o755):
    path = folder / "coracle"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.fixture
def named(monkeypatch):
    return lambda path: monkeypatch.setenv("CORACLE_BIN", path)


def message():
    with pytest.raises(BinaryError) as error:
        binary.find()
    return str(error.value)


def test_a_missing_program_names_the_three_ways_to_have_one(monkeypatch, tmp_path):
    monkeypatch.delenv("CORACLE_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(binary, "CARRIED", tmp_path / "none")
    text = message()
    assert "install a wheel" in text and "PATH" in text and "CORACLE_BIN" in text


def test_the_carried_program_comes_before_the_one_on_path(monkeypatch, tmp_path):
    monkeypatch.delenv("CORACLE_BIN", raising=False)
    carried, other = tmp_path / "carried", tmp_path / "other"
    carried.mkdir(), other.mkdir()
    answer = "#!/bin/sh\necho coracle 0.1.0\n"
    monkeypatch.setattr(binary, "CARRIED", pathlib.Path(script(carried, answer)))
    monkeypatch.setenv("PATH", f"{other}:{os.environ['PATH']}")
    on_path = script(other, answer)
    assert binary.find() == str(binary.CARRIED)
    binary.CARRIED.unlink()
    assert binary.find() == on_path


def test_coracle_bin_that_names_no_file_is_named(named):
    named("/no/such/coracle")
    assert message().startswith("CORACLE_BIN names /no/such/coracle, which is not a file")


def test_a_program_that_is_not_executable_is_named_with_the_command(named, tmp_path):
    path = script(tmp_path, "", mode=0o644)
    named(path)
    assert message() == f"{path} is not executable: run `chmod +x {path}`"


def test_a_program_of_another_version_names_both(named, tmp_path):
    named(script(tmp_path, "#!/bin/sh\necho coracle 9.2.1\n"))
    assert "has version 9.2.1, and this package needs 0.1.0" in message()


def test_a_program_that_needs_a_newer_glibc_names_it(named, tmp_path):
    said = "libc.so.6: version `GLIBC_2.9' not found\nlibc.so.6: version `GLIBC_2.99' not found"
    named(script(tmp_path, f'#!/bin/sh\ncat >&2 <<"END"\n{said}\nEND\nexit 1\n'))
    assert "needs glibc 2.99, and this machine has" in message()


def test_a_program_for_another_machine_is_named(named, tmp_path):
    named(script(tmp_path, "\x7fELF no program"))
    assert "is not a program for this machine" in message()


def test_another_program_is_named_with_what_it_said(named, tmp_path):
    named(script(tmp_path, "#!/bin/sh\necho who is there\n"))
    assert "is not the program `coracle` (who is there)" in message()


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=f"port {port} is in use: choose another port, or 0 for a free one"):
            Server(Options(port=port))


def test_an_unknown_release_is_named():
    with pytest.raises(StartError, match="did not start: .*1.12"):
        Server(Options(kubernetes="1.12"))


def folder_of(server):
    return pathlib.Path(server.cluster.kubeconfig).parent.parent


def test_stop_ends_the_process_and_removes_its_folder():
    with Server(Options(nodes=0)) as server:
        folder = folder_of(server)
        assert folder.exists()
        for kubeconfig in (server.cluster.kubeconfig, server.cluster.fork().kubeconfig):
            assert folder in pathlib.Path(kubeconfig).parents
            assert stat.S_IMODE(os.stat(kubeconfig).st_mode) & 0o077 == 0
    assert not folder.exists() and not server.is_running
    with pytest.raises(StartError, match="does not answer"):
        server.cluster.clock.now


def wait_until(holds):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_killed_parent_leaves_no_process_and_no_folder():
    program = """
        import coracle, time
        server = coracle.Server(coracle.Options(nodes=0))
        print(server.cluster.kubeconfig, server._process.pid, flush=True)
        time.sleep(600)
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    kubeconfig, group = parent.stdout.readline().split()
    folder = pathlib.Path(kubeconfig).parent.parent
    assert folder.exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not folder.exists())

    def group_has_ended():
        try:
            os.killpg(int(group), 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(group_has_ended)
