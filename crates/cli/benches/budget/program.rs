use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// The program whose commands are measured.
pub(crate) const PATH: &str = env!("CARGO_BIN_EXE_coracle");

/// Starts a server, and stops it as soon as it has greeted.
pub(crate) fn until_greeting(command: &mut Command) -> Result<(), String> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let mut out = BufReader::new(child.stdout.take().ok_or("no standard output")?);
    let mut greeting = String::new();
    out.read_line(&mut greeting).map_err(|error| error.to_string())?;
    kill_process(Pid::from_child(&child), Signal::INT).map_err(|error| error.to_string())?;
    out.read_to_string(&mut greeting).map_err(|error| error.to_string())?;
    let status = child.wait().map_err(|error| error.to_string())?;
    if greeting.is_empty() { Err(format!("{command:?}: no greeting, {status}")) } else { Ok(()) }
}
