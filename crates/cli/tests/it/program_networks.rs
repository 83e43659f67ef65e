//! Programs in networks of their own listen at the same port, and reach their servers.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command};
use std::time::Duration;

use crate::program::eventually;

const UNSHARE: [&str; 4] = ["--user", "--map-root-user", "--net", "--"];
/// Listens at port 1, where it is the administrator of its network, and sends a letter to the server.
const PROGRAM: &str = "python3 -c '
import socket
taken = socket.create_server((\"127.0.0.1\", 1))
server = socket.create_connection((\"127.0.0.1\", 443))
server.sendall(b\"a\")
assert server.recv(1) == b\"b\"
server.recv(1)
'";

/// A program in a network of its own, whose port 443 leads to the socket file.
fn start(folder: &std::path::Path, gate: &std::path::Path) -> Child {
    let within = folder.join("coracle-in-network");
    if !within.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_coracle"), &within).unwrap();
    }
    let mut command = Command::new("unshare");
    command.args(UNSHARE).arg(within).arg("443").arg(gate).args(["sh", "-c", PROGRAM]).spawn().unwrap()
}

#[test]
fn two_programs_listen_at_one_port_and_reach_their_servers() {
    let may = Command::new("unshare").args(UNSHARE).arg("true").status();
    if !may.is_ok_and(|status| status.success()) {
        println!("skipped: this system permits no network of its own");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let gates = ["one", "other"].map(|name| folder.path().join(name));
    let servers = gates.each_ref().map(|gate| UnixListener::bind(gate).unwrap());
    let mut programs = gates.each_ref().map(|gate| start(folder.path(), gate));
    // Both run at the same time: each connection is held until both programs have connected.
    let mut connections = servers.each_ref().map(|server| {
        server.set_nonblocking(true).unwrap();
        eventually("the program connects", || server.accept().ok()).0
    });
    for connection in &mut connections {
        connection.set_nonblocking(false).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut letter = [0];
        connection.read_exact(&mut letter).unwrap();
        assert_eq!(&letter, b"a");
        connection.write_all(b"b").unwrap();
    }
    drop(connections);
    assert!(programs.each_mut().iter_mut().all(|program| program.wait().unwrap().success()));
}
