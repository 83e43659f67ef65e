use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use super::view::Way;
use crate::interrupt::until_interrupted;
use crate::lab_files::LabFiles;
use crate::output::out;
use crate::page_socket::{PageSocket, address};
use crate::runtime::runtime;

/// The default address of the lab. Browsers store the progress for a port, so it is the same at each start.
const USUAL: &str = "127.0.0.1:7742";

/// Serves the lab: a control plane that runs in a browser tab.
#[derive(Debug, Args)]
pub(crate) struct LabCommand {
    /// The folder with the files of the lab, as `make lab` writes it [default: `lab` next to this program]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The address of the lab [default: 127.0.0.1:7742, or a free port if that one is in use]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address)]
    address: Option<SocketAddr>,
    /// Open the link in a browser
    #[arg(long)]
    open: bool,
}

impl LabCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let folder = self.folder.clone().map_or_else(beside, Ok)?;
        let files = Arc::new(LabFiles::of(&folder)?);
        runtime()?.block_on(async {
            let socket = PageSocket::bind_or_free(self.address, USUAL).await?;
            let link = socket.link();
            out!(" ✓ lab at {link}")?;
            out!(" The cluster runs in the browser; Ctrl-C ends the server")?;
            let _way = if self.open { Some(Way::open(&link)?) } else { None };
            Ok(until_interrupted(socket.serve_pages(files)).await)
        })
    }
}

/// The folder next to this program.
fn beside() -> Result<PathBuf> {
    let program =
        std::env::current_exe().context("the place of this program is not known; name the lab by --folder")?;
    Ok(program.with_file_name("lab"))
}
