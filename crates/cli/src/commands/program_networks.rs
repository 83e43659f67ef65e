//! The networks of checked programs. Each run has its own, so that programs which listen at a fixed port run at once.
//!
//! ```text
//! program --127.0.0.1:PORT--> in_network, in the network of the run --socket file--> Gate --> API server
//! ```

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::{TcpStream, UnixListener};

use crate::commands::in_network;
use crate::relay::relay;

/// The program of util-linux that starts a program in a new network.
const UNSHARE: [&str; 5] = ["unshare", "--user", "--map-root-user", "--net", "--"];

/// Starts programs in networks of their own.
pub(crate) struct ProgramNetworks {
    /// This program, under the name by which it knows what to do.
    within: PathBuf,
}

impl ProgramNetworks {
    /// `None` if this system does not permit it.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let within = folder.join(in_network::NAME);
        std::os::unix::fs::symlink(std::env::current_exe().ok()?, &within).ok()?;
        let networks = Self { within };
        let mut trial = networks.command(0, Path::new("-"), &["true".to_owned()]);
        trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success()).then_some(networks)
    }

    /// A command that runs in a new network, where connections to the port lead through the gate.
    pub(crate) fn command(&self, port: u16, gate: &Path, command: &[String]) -> Command {
        let [unshare, flags @ ..] = UNSHARE;
        let mut outer = Command::new(unshare);
        outer.args(flags).arg(&self.within).arg(port.to_string()).arg(gate).args(command);
        outer
    }
}

/// A socket file, through which a network reaches a server.
pub(crate) struct Gate {
    socket: UnixListener,
    server: SocketAddr,
}

impl Gate {
    pub(crate) fn open(path: &Path, server: SocketAddr) -> Result<Self> {
        let socket = UnixListener::bind(path).with_context(|| format!("cannot listen at {}", path.display()))?;
        Ok(Self { socket, server })
    }

    /// Forwards connections until the future is dropped.
    pub(crate) async fn forward(self) -> std::convert::Infallible {
        let Self { socket, server } = self;
        let socket = Arc::new(socket);
        let accept = move || {
            let socket = Arc::clone(&socket);
            async move { Ok(socket.accept().await?.0) }
        };
        relay(accept, move || TcpStream::connect(server)).await
    }
}
