use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::view::Way;
use crate::course::LessonPages;
use crate::interrupt::until_interrupted;
use crate::output::out;
use crate::page_socket::{PageSocket, address};
use crate::runtime::runtime;

/// The default address of the lessons. Browsers store the progress for a port, so it is the same at each start.
const USUAL: &str = "127.0.0.1:7741";

/// How lessons are served to a browser.
#[derive(Debug, Args)]
pub(super) struct InBrowser {
    /// Serve the lessons to a browser, and print the link; the default without a lesson in a terminal
    #[arg(long, conflicts_with_all = ["report", "plain", "list"])]
    serve: bool,
    /// Open the link in a browser
    #[arg(long, conflicts_with_all = ["report", "plain", "list"])]
    open: bool,
    /// The address of the lessons [default: 127.0.0.1:7741, or a free port if that one is in use]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address, conflicts_with_all = ["report", "plain", "list"])]
    address: Option<SocketAddr>,
}

impl InBrowser {
    pub(super) fn is_wanted(&self) -> bool {
        self.serve || self.open || self.address.is_some()
    }

    /// Serves the lessons until Ctrl-C. The link leads to the list, or to a lesson.
    pub(super) fn serve(&self, lesson: Option<&str>) -> Result<u8> {
        runtime()?.block_on(async {
            let socket = PageSocket::bind_or_free(self.address, USUAL).await?;
            let list = socket.link();
            let link = lesson.map_or_else(|| list.clone(), |name| format!("{list}lesson/{name}"));
            out!(" ✓ lessons at {link}")?;
            out!(" Ctrl-C ends it; coracle learn --list prints the list, and coracle learn 1 --plain a lesson")?;
            let _way = if self.open { Some(Way::open(&link)?) } else { None };
            Ok(until_interrupted(socket.serve_pages(Arc::new(LessonPages::new()))).await)
        })
    }
}
