//! What this program does within the network of a checked program: it runs the program, and forwards its connections.

use std::net::Ipv4Addr;
use std::pin::pin;

use anyhow::{Context, Result};
use futures_util::future::{Either, select};
use tokio::net::{TcpListener, UnixStream};

use crate::exit;
use crate::relay::relay;

/// The name of the executable that asks for it. The arguments are a port, a socket file, and a command.
pub(crate) const NAME: &str = "coracle-in-network";

/// Runs the command to its end, and returns its exit code.
pub(crate) fn run(arguments: &[String]) -> Result<u8> {
    let [port, gate, program, arguments @ ..] = arguments else {
        return Err(exit::Usage(format!("{NAME} needs a port, a socket file and a command")).into());
    };
    let port: u16 = port.parse().map_err(|_| exit::Usage(format!("{port} is not a port")))?;
    switch_on_loopback().context("cannot switch on the loopback interface")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let mut command = tokio::process::Command::new(program);
        let child = command.args(arguments).kill_on_drop(true).spawn();
        let mut child = child.with_context(|| format!("cannot run `{program}`"))?;
        let forwarding = relay(|| async { Ok(listener.accept().await?.0) }, || UnixStream::connect(gate));
        let ended = pin!(async {
            match select(pin!(child.wait()), pin!(crate::parent_death::orphaned())).await {
                Either::Left((status, _)) => status.map(|status| status.code()),
                Either::Right(_) => Ok(None),
            }
        });
        let Either::Left((code, _)) = select(ended, pin!(forwarding)).await;
        Ok(code?.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILED))
    })
}

#[cfg(target_os = "linux")]
fn switch_on_loopback() -> std::io::Result<()> {
    crate::loopback::switch_on()
}

#[cfg(not(target_os = "linux"))]
fn switch_on_loopback() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
