use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use coracle_release::Release;
use http::Uri;

use crate::envtest_archive::{Archive, Program, index};
use crate::exit;
use crate::output::{exact, note};

/// Where the archives of this version are published.
const PUBLISHED: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/releases/download/envtest-v", env!("CARGO_PKG_VERSION"));
/// The name under which the Kubernetes project publishes its index.
const INDEX: &str = "envtest-releases.yaml";

/// Writes an index of envtest's programs and the archives that it names.
#[derive(Debug, Args)]
pub(crate) struct Envtest {
    /// The folder for the index and the archives
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The address at which the folder will be served, which the index contains
    #[arg(long, value_name = "URL", value_parser = address, default_value = PUBLISHED)]
    url: String,
    /// A release of Kubernetes to write; may be repeated [default: all, as `coracle versions` lists them]
    #[arg(long, value_name = "VERSION", value_parser = Release::named)]
    kubernetes: Vec<Release>,
    /// A program `coracle` to pack, such as one for another platform; may be repeated [default: this one]
    #[arg(long, value_name = "FILE")]
    program: Vec<PathBuf>,
}

impl Envtest {
    pub(crate) fn run(self) -> Result<u8> {
        let Self { out, url, kubernetes, program } = self;
        let releases = if kubernetes.is_empty() { Release::all().collect() } else { kubernetes };
        let programs = read(program)?;
        std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        let mut archives = Vec::new();
        for program in programs.values() {
            for release in &releases {
                let Archive { listing, bytes } = program.archive(release)?;
                write(&out, &listing.name, &bytes)?;
                exact!("{}", out.join(&listing.name).display())?;
                archives.push(listing);
            }
        }
        write(&out, INDEX, index(&archives, &url).as_bytes())?;
        exact!("{}", out.join(INDEX).display())?;
        if let Some(release) = releases.first() {
            note!("note: as soon as {url} serves the folder:  setup-envtest use --index {url}/{INDEX} {release}");
        }
        Ok(exit::PASS)
    }
}

/// The programs, packed, by platform.
fn read(files: Vec<PathBuf>) -> Result<BTreeMap<&'static str, Program>> {
    let files = if files.is_empty() {
        vec![std::env::current_exe().context("cannot find the file of this program")?]
    } else {
        files
    };
    let mut programs = BTreeMap::new();
    for file in files {
        let bytes = std::fs::read(&file).with_context(|| format!("--program: cannot read {}", file.display()))?;
        let program = Program::pack(&bytes)?;
        let program = program.ok_or_else(|| {
            let why = "is not a program for Linux or macOS on amd64 or arm64: build `coracle` for one of those";
            exit::Usage(format!("--program: {} {why}", file.display()))
        })?;
        let platform = program.platform();
        if programs.insert(platform, program).is_some() {
            let why = format!("{} is the second program for {platform}: give one for each platform", file.display());
            return Err(exit::Usage(format!("--program: {why}")).into());
        }
    }
    Ok(programs)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let file = folder.join(name);
    std::fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// The address without a slash at its end.
fn address(text: &str) -> Result<String, String> {
    let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("setup-envtest downloads from http:// and https:// only".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}
