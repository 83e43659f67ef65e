use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use coracle_control::with_plural_kind;
use coracle_pki::write_private;
use coracle_viewer::serve::ServedPage;
use coracle_viewer::{Format, Read, find};

use super::plan_files::page_of;
use super::story::{note, nothing, run_of};
use crate::exit;
use crate::interrupt::until_interrupted;
use crate::output::{note, out};
use crate::page_socket::{LOOPBACK, PageSocket, address};
use crate::random::random_letters;
use crate::reports;
use crate::runtime::runtime;

/// Shows a run in the browser, or writes reports of it.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// An events file, as written by `coracle run --events FILE`, a report that ends with .html, or a plan of
    /// `coracle check --out`
    run: PathBuf,
    /// Write a report to this file instead; the extension selects the format: .html, .json, .xml (JUnit), .md or
    /// .perfetto.json (may be repeated)
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// The entry that the page shows first: an event (#412), a revision (rev=31), or the causes of an object
    /// (pod/web-1)
    #[arg(long, value_name = "PLACE")]
    at: Option<String>,
    /// The address of the page
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = LOOPBACK, hide_default_value = true, value_parser = address)]
    address: SocketAddr,
    /// Open the link in a browser
    #[arg(long, conflicts_with = "report")]
    open: bool,
}

impl View {
    pub(crate) fn run(self) -> Result<u8> {
        reports::check(&self.report)?;
        let read = run_of(&page_of(&self.run)?)?;
        let entries = &read.events.entries;
        let place = match self.at.as_deref().map(|at| find(entries, &with_plural_kind(entries, at))) {
            None => String::new(),
            Some(Ok(id)) => format!("#i={}", id.0),
            Some(Err(why)) => return nothing(&self.run, &why),
        };
        if self.report.is_empty() { runtime()?.block_on(self.serve(&read, &place)) } else { self.write(&read, &place) }
    }

    /// Writes the reports; a truncated run is usable, but returns an error code.
    fn write(&self, read: &Read, place: &str) -> Result<u8> {
        if self.report.iter().any(|path| Format::of(path) != Ok(Format::Html)) {
            note(&self.run, read);
        }
        for path in &self.report {
            match (&read.other_content, &read.cut) {
                (Some(beside), _) if Format::of(path) == Ok(Format::Html) => coracle_viewer::write_again(beside, path)?,
                (_, None) => coracle_viewer::write(&read.events, path)?,
                (_, Some(cut)) => coracle_viewer::write_cut(&read.events, cut, path).map_err(|error| match error {
                    refused @ coracle_viewer::WriteError::Cut { .. } => exit::Usage(format!("{cut}; {refused}")).into(),
                    other => anyhow::Error::from(other),
                })?,
            }
            let link = if Format::of(path) == Ok(Format::Html) { place } else { "" };
            out!("report {}{link}", path.display())?;
        }
        match &read.cut {
            None => Ok(exit::PASS),
            Some(cut) => Err(exit::Usage(cut.clone()).into()),
        }
    }

    async fn serve(&self, read: &Read, place: &str) -> Result<u8> {
        if let Some(cut) = &read.cut {
            note!("coracle: {cut}; shown is what came before");
        }
        let socket = PageSocket::bind(self.address).await?;
        let link = format!("{}{place}", socket.link());
        out!(" ✓ {} at {link}", self.run.display())?;
        out!(" Ctrl-C ends it")?;
        let _way = if self.open { Some(Way::open(&link)?) } else { None };
        let site = match &read.other_content {
            Some(beside) => ServedPage::of_page(beside),
            None => ServedPage::of_run(&read.events, read.cut.as_deref()),
        };
        Ok(until_interrupted(socket.serve(site)).await)
    }
}

/// A temporary page that redirects to a link. The link is a secret, and other users can see the command line of a
/// process; so the browser is started with a file that only its owner can read.
pub(super) struct Way(PathBuf);

impl Way {
    /// Opens the link with the system's default program.
    pub(super) fn open(link: &str) -> Result<Self> {
        let way = Self(std::env::temp_dir().join(format!("coracle-view-{}.html", random_letters()?)));
        write_private(&way.0, &format!("<meta http-equiv=\"refresh\" content=\"0; url={link}\">"))?;
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let started = std::process::Command::new(program).arg(&way.0).spawn();
        started.with_context(|| format!("--open: {program} does not start; open the link yourself"))?;
        Ok(way)
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
