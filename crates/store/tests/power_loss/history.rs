use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{path_of, writer};

/// What happened below a folder, in order. See `recorder.c`.
pub(crate) struct History {
    pub(crate) entries: Vec<Entry>,
}

pub(crate) enum Entry {
    Create { path: String, inode: u64 },
    MakeFolder { path: String },
    Write { inode: u64, offset: u64, data: Vec<u8> },
    Truncate { inode: u64, length: u64 },
    Rename { from: String, to: String },
    Unlink { path: String },
    RemoveFolder { path: String },
    Sync { inode: u64 },
    SyncFolder { path: String },
    SyncFailed { inode: u64 },
    Said(String),
}

/// What the writer has to live with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble<'a> {
    None,
    /// A fault, as `recorder.c` takes it.
    Fault(&'a str),
    /// A store that says it need not sync.
    NoSyncs,
}

/// The library that is preloaded into the writer.
pub(crate) struct Recorder {
    library: PathBuf,
    _folder: tempfile::TempDir,
}

impl Recorder {
    /// Compiles it; `None`, with a word, if this machine has no C compiler.
    pub(crate) fn build() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("recorder.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/power_loss/recorder.c");
        let outcome = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(source)
            .arg("-lpthread")
            .stderr(Stdio::inherit())
            .status();
        match outcome {
            Ok(status) => assert!(status.success(), "the recorder compiles"),
            Err(_) => {
                println!("SKIPPED: there is no C compiler (cc) on this machine, so no power is lost");
                return None;
            }
        }
        Some(Self { library, _folder: folder })
    }

    /// Lets the writer work on `folder`, and returns what it did.
    pub(crate) fn run(&self, folder: &Path, seed: u64, trouble: Trouble<'_>) -> History {
        let output = path_of(".history", folder);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "writer::writes_for_the_recorder", "--nocapture", "--test-threads=1"])
            .env(writer::FOLDER, folder)
            .env(writer::SEED, seed.to_string())
            .env("LD_PRELOAD", &self.library)
            .env("CORACLE_RECORDER_ROOT", folder)
            .env("CORACLE_RECORDER_OUTPUT", &output);
        match trouble {
            Trouble::None => &mut command,
            Trouble::Fault(fault) => command.env("CORACLE_RECORDER_FAULT", fault),
            Trouble::NoSyncs => command.env(writer::NO_SYNCS, "1"),
        };
        let ended = command.output().unwrap();
        let bytes = std::fs::read(&output).unwrap();
        assert!(
            ended.status.success(),
            "the writer failed ({trouble:?}): {}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        );
        for name in [".history", ".said"] {
            std::fs::remove_file(path_of(name, folder)).unwrap();
        }
        History { entries: read(&bytes) }
    }
}

fn read(mut bytes: &[u8]) -> Vec<Entry> {
    const HEAD: usize = 32;
    let mut entries = Vec::new();
    while bytes.len() >= HEAD {
        let half = |at: Range<usize>| u32::from_le_bytes(bytes[at].try_into().unwrap());
        let whole = |at: Range<usize>| u64::from_le_bytes(bytes[at].try_into().unwrap());
        let (kind, name_length) = (half(0..4), half(4..8) as usize);
        let (inode, offset, length) = (whole(8..16), whole(16..24), whole(24..32) as usize);
        let (name, rest) = bytes[HEAD..].split_at(name_length);
        let (data, rest) = rest.split_at(length);
        bytes = rest;
        let path = String::from_utf8(name.to_vec()).unwrap();
        let text = || String::from_utf8(data.to_vec()).unwrap();
        entries.push(match kind {
            1 => Entry::Create { path, inode },
            2 => Entry::MakeFolder { path },
            3 => Entry::Write { inode, offset, data: data.to_vec() },
            4 => Entry::Truncate { inode, length: offset },
            5 => Entry::Rename { from: path, to: text() },
            6 => Entry::Unlink { path },
            7 => Entry::RemoveFolder { path },
            8 => Entry::Sync { inode },
            9 => Entry::SyncFolder { path },
            10 => Entry::SyncFailed { inode },
            11 => Entry::Said(text()),
            other => panic!("the recorder writes no entry of kind {other}"),
        });
    }
    entries
}
