//! `cargo xtask dist [--target TARGET] [--binary PATH]` writes an archive of the program for a platform to `target/dist`.
//!
//! ```text
//! coracle-VERSION-TARGET.tar.gz
//!   coracle-VERSION-TARGET/coracle, LICENSE, README.md, THIRD-PARTY-LICENSES, completions/, man/
//! SHA256SUMS      of all archives of this version in the folder
//! ```
//! The program itself writes the completions and the manual pages, so the machine has to be able to run it. The same program
//! gives the same bytes. `[package.metadata.binstall]` of the program describes the names.

mod archive;
mod notices;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use archive::File;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn write() -> Result<(), Failure> {
    let (target, binary) = arguments()?;
    let target = target.map_or_else(host, Ok)?;
    let binary = binary.map_or_else(|| build(&target), Ok)?;
    let printed = output(Command::new(&binary).arg("version"))?;
    if !printed.starts_with(&format!("coracle {VERSION},")) {
        let printed = printed.trim();
        return Err(
            format!("{} is {printed}, and this is the source of {VERSION}: build it again", binary.display()).into()
        );
    }
    let folder = target_folder().join("dist");
    fs::create_dir_all(&folder)?;
    let name = format!("coracle-{VERSION}-{target}");
    let bytes = archive::pack(&name, &files(&binary, &target)?)?;
    let file = folder.join(format!("{name}.tar.gz"));
    fs::write(&file, &bytes)?;
    fs::write(folder.join("SHA256SUMS"), sums(&folder)?)?;
    println!("{}  {} bytes; the program has {} bytes", file.display(), bytes.len(), fs::metadata(&binary)?.len());
    Ok(())
}

/// Prints the licences of the crates in the program for a target, which packages carry next to the program.
pub(crate) fn print_notices() -> Result<(), Failure> {
    let target = std::env::args().nth(2).map_or_else(host, Ok)?;
    Ok(std::io::stdout().write_all(notices::of(&target)?.as_bytes())?)
}

fn arguments() -> Result<(Option<String>, Option<PathBuf>), Failure> {
    let (mut target, mut binary) = (None, None);
    let mut rest = std::env::args().skip(2);
    while let Some(flag) = rest.next() {
        let value = rest.next();
        match (flag.as_str(), value) {
            ("--target", Some(value)) => target = Some(value),
            ("--binary", Some(value)) => binary = Some(PathBuf::from(value)),
            _ => return Err("usage: cargo xtask dist [--target TARGET] [--binary PATH]".into()),
        }
    }
    Ok((target, binary))
}

/// The target of the compiler on this machine.
fn host() -> Result<String, Failure> {
    let printed = output(Command::new("rustc").arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// Builds the program. With a target, because only then its folder is the same for each machine.
fn build(target: &str) -> Result<PathBuf, Failure> {
    let build = ["build", "--locked", "--profile", "dist", "-p", "coracle-cli", "--target", target];
    if !Command::new(env!("CARGO")).args(build).status()?.success() {
        return Err(format!("the program cannot be built for {target}").into());
    }
    Ok(target_folder().join(target).join("dist/coracle"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the task is in a folder of the workspace")
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// What the archive contains, by path.
fn files(binary: &Path, target: &str) -> Result<BTreeMap<String, File>, Failure> {
    let mut files = BTreeMap::new();
    files.insert("coracle".to_owned(), File { mode: 0o755, bytes: fs::read(binary)? });
    let mut add = |path: String, bytes: Vec<u8>| files.insert(path, File { mode: 0o644, bytes });
    for name in ["LICENSE", "README.md"] {
        add(name.to_owned(), fs::read(root().join(name))?);
    }
    add("THIRD-PARTY-LICENSES".to_owned(), notices::of(target)?.into_bytes());
    // The names under which the shells look for completions.
    for (shell, name) in [("bash", "coracle.bash"), ("zsh", "_coracle"), ("fish", "coracle.fish")] {
        let script = output(Command::new(binary).args(["completion", shell]))?;
        add(format!("completions/{name}"), script.into_bytes());
    }
    let pages = target_folder().join("dist/man");
    let _ = fs::remove_dir_all(&pages);
    output(Command::new(binary).args(["dist", "man", "--out"]).arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        let page = page?;
        add(format!("man/{}", page.file_name().to_string_lossy()), fs::read(page.path())?);
    }
    fs::remove_dir_all(&pages)?;
    Ok(files)
}

/// What a program prints.
fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The checksums of the archives, as `sha256sum` writes and checks them.
fn sums(folder: &Path) -> Result<String, Failure> {
    let mut archives = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&format!("coracle-{VERSION}-")) && name.ends_with(".tar.gz") {
            archives.insert(name, Sha256::digest(fs::read(entry.path())?));
        }
    }
    let mut text = String::new();
    for (name, sum) in archives {
        sum.iter().try_for_each(|byte| write!(text, "{byte:02x}"))?;
        writeln!(text, "  {name}")?;
    }
    Ok(text)
}
