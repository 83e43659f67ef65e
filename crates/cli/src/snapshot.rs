//! A cluster's state in one file: the content of its store, the state of its simulated nodes, and its identity
//! (authority, keys, tokens).
//!
//! ```text
//! gzip( "coracle snapshot, format 1\n", a line of JSON that names each part and its length, the parts )
//! ```
//! The checksum is gzip's. A file with another format, or one that is truncated or damaged, is rejected before
//! anything is created: a restore works in a temporary folder, which is renamed at the end.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use coracle_cluster::SavedNodes;
use coracle_store::disk;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::state::StateFolder;

const FORMAT: &str = "coracle snapshot, format 1";
/// The part with the content of the store.
const STORE: &str = "store";
/// The part with the state of the simulated nodes.
const NODES: &str = "nodes";
/// The maximum length of the header.
const MOST_HEADER: u64 = 1 << 20;

/// Writes the state of a stopped cluster to a new file.
///
/// # Errors
/// The cluster is running or does not exist, or the file exists already or cannot be written.
pub(crate) fn save(folder: &StateFolder, file: &Path) -> Result<disk::Report> {
    ensure!(!file.exists(), "{} is there already", file.display());
    ensure!(folder.data().is_dir(), "{} holds no cluster with data on disk", folder.path().display());
    let _claim = folder.claim()?;
    let backup = Removed(folder.path().join("snapshot.store"));
    let _ = fs::remove_file(&backup.0);
    let report = disk::backup(&folder.data(), &backup.0)?;
    let part = Removed(with_suffix(file, ".part"));
    assemble(folder, &backup.0, Some(&folder.nodes()).filter(|nodes| nodes.exists()), &part.0)?;
    fs::rename(&part.0, file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(report)
}

/// Writes the state of the cluster that runs in this folder; its store was read at one revision, and its nodes after
/// that. Returns the file, which is already unlinked.
///
/// # Errors
/// The error of the file system.
pub(crate) fn save_running(folder: &StateFolder, live: &disk::LiveData, nodes: &SavedNodes) -> Result<File> {
    let names = ["store", "nodes", "part"].map(|name| Removed(folder.path().join(format!("snapshot.{name}"))));
    names.iter().for_each(|name| drop(fs::remove_file(&name.0)));
    let [backup, saved, part] = &names;
    live.write(&backup.0)?;
    fs::write(&saved.0, nodes.to_bytes())?;
    assemble(folder, &backup.0, Some(&saved.0), &part.0)?;
    Ok(File::open(&part.0)?)
}

/// Combines the parts into one file.
fn assemble(folder: &StateFolder, backup: &Path, nodes: Option<&PathBuf>, file: &Path) -> Result<()> {
    let mut parts = vec![(STORE.to_owned(), backup.to_owned())];
    parts.extend(nodes.map(|nodes| (NODES.to_owned(), nodes.clone())));
    for path in files_below(&folder.pki())? {
        let name = path.strip_prefix(folder.path()).context("a file outside of its folder")?;
        let name = name.to_str().with_context(|| format!("{} has a name that is no text", path.display()))?;
        parts.push((name.to_owned(), path.clone()));
    }
    write(file, &parts).with_context(|| format!("cannot write {}", file.display()))
}

/// Receives a snapshot from elsewhere, and renames it to its final name if it is complete.
///
/// # Errors
/// The file exists already or cannot be written, or the received data is not a snapshot.
pub(crate) fn receive(file: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<disk::Report> {
    ensure!(!file.exists(), "{} is there already", file.display());
    let part = Removed(with_suffix(file, ".part"));
    let mut target = private(&part.0, false).with_context(|| format!("cannot write {}", part.0.display()))?;
    fill(&mut target)?;
    target.sync_all()?;
    let mut report = None;
    each_part(&part.0, &mut |name, input| {
        match name {
            STORE => report = Some(disk::check_backup(input, &part.0)?),
            NODES => drop(read_nodes(input)?),
            _ => {}
        }
        Ok(())
    })?;
    fs::rename(&part.0, file).with_context(|| format!("cannot write {}", file.display()))?;
    report.context("it has no part of the store")
}

/// Creates a state folder from a snapshot.
///
/// # Errors
/// The folder is not empty; the file is not a snapshot, has another format, is truncated or damaged. Nothing is
/// created then.
pub(crate) fn restore(file: &Path, folder: &StateFolder) -> Result<disk::Report> {
    let target = folder.path();
    let is_empty = fs::read_dir(target).map_or(true, |mut entries| entries.next().is_none());
    ensure!(is_empty, "{} is not empty: name another folder with --state-dir", target.display());
    let beside = RemovedFolder(with_suffix(target, ".restoring"));
    let _ = fs::remove_dir_all(&beside.0);
    let made = StateFolder::named(Some(&beside.0));
    made.create()?;
    let backup = beside.0.join("snapshot.store");
    read(file, &made, &backup).with_context(|| format!("{} cannot be restored", file.display()))?;
    let report = disk::restore(&backup, &made.data(), None)?;
    fs::remove_file(&backup)?;
    if target.exists() {
        fs::remove_dir(target)?;
    }
    fs::rename(&beside.0, target).with_context(|| format!("cannot make {}", target.display()))?;
    Ok(report)
}

/// A file that is removed at the end, unless it was renamed.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A folder that is removed at the end, unless it was renamed.
struct RemovedFolder(PathBuf);

impl Drop for RemovedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// A file that only its owner can read: it contains keys.
fn private(path: &Path, is_new: bool) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create(true).truncate(true).create_new(is_new).mode(0o600).open(path)
}

fn write(file: &Path, parts: &[(String, PathBuf)]) -> Result<()> {
    let mut out = GzEncoder::new(BufWriter::new(private(file, false)?), Compression::fast());
    let mut named = Vec::new();
    for (name, path) in parts {
        named.push(json!({"name": name, "bytes": fs::metadata(path)?.len()}));
    }
    writeln!(out, "{FORMAT}")?;
    writeln!(out, "{}", json!({"version": env!("CARGO_PKG_VERSION"), "parts": named}))?;
    for (_, path) in parts {
        std::io::copy(&mut File::open(path)?, &mut out)?;
    }
    let target = out.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(target.sync_all()?)
}

/// Reads a snapshot: the store's part is written to `backup`, the others to `folder`.
fn read(file: &Path, folder: &StateFolder, backup: &Path) -> Result<()> {
    each_part(file, &mut |name, input| {
        let path = match name {
            STORE => backup.to_owned(),
            NODES => folder.nodes(),
            name => folder.path().join(name),
        };
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        let mut target = private(&path, true)?;
        match name {
            NODES => target.write_all(&read_nodes(input)?)?,
            _ => drop(std::io::copy(input, &mut target)?),
        }
        Ok(target.sync_all()?)
    })
}

/// The state of the nodes, if this version can read it.
fn read_nodes(input: &mut dyn Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    SavedNodes::read(&bytes)?;
    Ok(bytes)
}

/// Reads a snapshot part by part.
fn each_part(file: &Path, take: &mut dyn FnMut(&str, &mut dyn Read) -> Result<()>) -> Result<()> {
    let mut input = BufReader::new(GzDecoder::new(BufReader::new(File::open(file)?)));
    let format = line(&mut input).context("it is no snapshot, or was cut short")?;
    ensure!(format == FORMAT, "it is {format:?}, and this program reads {FORMAT:?}");
    let header: Value = serde_json::from_str(&line(&mut input)?)?;
    let mut has_store = false;
    for part in header["parts"].as_array().into_iter().flatten() {
        let (name, bytes) = (part["name"].as_str().unwrap_or_default(), part["bytes"].as_u64().unwrap_or_default());
        let is_plain = Path::new(name).components().all(|step| matches!(step, Component::Normal(_)));
        ensure!(
            is_plain && (name == STORE || name == NODES || name.starts_with("pki/")),
            "it has a part {name:?}, which no snapshot has"
        );
        has_store |= name == STORE;
        let mut own = (&mut input).take(bytes);
        take(name, &mut own)?;
        // Unused data of the part is skipped.
        std::io::copy(&mut own, &mut std::io::sink())?;
        ensure!(own.limit() == 0, "it was cut short in its part {name}");
    }
    // Reads up to the end, where gzip verifies the checksum.
    if input.read(&mut [0])? > 0 {
        bail!("more follows than it names");
    }
    ensure!(has_store, "it has no part {STORE:?}");
    Ok(())
}

fn line(input: &mut impl BufRead) -> Result<String> {
    let mut line = Vec::new();
    input.take(MOST_HEADER).read_until(b'\n', &mut line)?;
    ensure!(line.pop() == Some(b'\n'), "a line is missing or too long");
    Ok(String::from_utf8(line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_ambient::Ambient;
    use coracle_cluster::StoreSpec;
    use coracle_journal::Recorder;
    use coracle_store::{KeyRange, Operation, RangeRequest, Txn};

    /// A stopped cluster with one key in its store, and one in its folder.
    async fn stopped(path: &Path) -> StateFolder {
        let folder = StateFolder::named(Some(path));
        folder.create().unwrap();
        fs::write(folder.pki().join("ca.key"), "secret").unwrap();
        let open = StoreSpec::Sled(folder.data()).open(&Ambient::seeded(1), &Recorder::off()).await.unwrap();
        let put = Operation::put("a", "1");
        open.store
            .txn(Txn { compare: Vec::new(), success: vec![put], failure: Vec::new(), cause: None })
            .await
            .unwrap();
        open.close().await;
        folder
    }

    #[tokio::test]
    async fn a_snapshot_is_restored_only_into_an_empty_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = stopped(&home.path().join("a")).await;
        let file = home.path().join("snapshot");
        let saved = save(&folder, &file).unwrap();
        let other = StateFolder::named(Some(&home.path().join("b")));
        let restored = restore(&file, &other).unwrap();
        assert_eq!((restored.records, restored.revision), (saved.records, saved.revision));
        assert_eq!(fs::read_to_string(other.pki().join("ca.key")).unwrap(), "secret");
        let open = StoreSpec::Sled(other.data()).open(&Ambient::seeded(1), &Recorder::off()).await.unwrap();
        let found =
            open.store.range(RangeRequest { range: KeyRange::key("a"), ..RangeRequest::default() }).await.unwrap();
        assert_eq!(&found.kvs[0].value[..], b"1");
        open.close().await;
        assert!(restore(&file, &other).unwrap_err().to_string().contains("is not empty"));
        assert!(save(&folder, &file).unwrap_err().to_string().contains("is there already"));
        let _claim = folder.claim().unwrap();
        assert!(save(&folder, &home.path().join("second")).unwrap_err().to_string().contains("in use"));
        assert!(!home.path().join("second").exists() && !home.path().join("second.part").exists());
    }

    #[tokio::test]
    async fn a_damaged_snapshot_creates_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = stopped(&home.path().join("a")).await;
        let file = home.path().join("snapshot");
        save(&folder, &file).unwrap();
        let whole = fs::read(&file).unwrap();
        let (damaged, other) = (home.path().join("damaged"), home.path().join("b"));
        // The first ten bytes are gzip's header, of which time and system say nothing.
        let changed = (10..whole.len()).step_by(7).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            bytes
        });
        let cut = (0..whole.len()).step_by(5).map(|at| whole[..at].to_vec());
        for bytes in changed.chain(cut) {
            fs::write(&damaged, bytes).unwrap();
            assert!(restore(&damaged, &StateFolder::named(Some(&other))).is_err());
            assert!(!other.exists() && !home.path().join("b.restoring").exists());
        }
        fs::write(folder.nodes(), r#"{"version": 7}"#).unwrap();
        fs::remove_file(&file).unwrap();
        save(&folder, &file).unwrap();
        let refused = restore(&file, &StateFolder::named(Some(&other))).unwrap_err();
        assert!(format!("{refused:#}").contains("of version 7, and this program reads version 1"), "{refused:#}");
        assert!(!other.exists());
        let mut newer = GzEncoder::new(File::create(&damaged).unwrap(), Compression::fast());
        newer.write_all(b"coracle snapshot, format 2\n{}\n").unwrap();
        newer.finish().unwrap();
        let refused = restore(&damaged, &StateFolder::named(Some(&other))).unwrap_err();
        assert!(format!("{refused:#}").contains("format 2"), "{refused:#}");
    }
}
