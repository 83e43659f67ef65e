use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use coracle_apiserver::AuditSink;
use parking_lot::Mutex;

use crate::Error;

/// How many events wait to be written. In Kubernetes: `--audit-log-batch-buffer-size`.
const WAITING: usize = 10_000;
/// After how many lost events it is said again.
const SAID_AGAIN: u64 = 1000;

/// The audit log in a file, or on the standard output. A thread of its own writes, so that a slow disk holds up no request;
/// when more events wait than there is room for, the next are lost, and that is said on the standard error.
#[derive(Debug)]
pub struct AuditLog {
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    lost: AtomicU64,
}

impl AuditLog {
    /// Opens the log at `path`; `-` is the standard output. A new file is readable by its owner alone; new events are added to a file that exists.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &str) -> Result<Self, Error> {
        let out: Box<dyn Write + Send> = match path {
            "-" => Box::new(std::io::stdout()),
            path => {
                let failed = |source| Error::Io { path: PathBuf::from(path), source };
                Box::new(File::options().create(true).append(true).mode(0o600).open(path).map_err(failed)?)
            }
        };
        Self::to(out)
    }

    fn to(out: Box<dyn Write + Send>) -> Result<Self, Error> {
        let (lines, waiting) = sync_channel(WAITING);
        let writer = std::thread::Builder::new().name("audit-log".to_owned()).spawn(move || write(out, &waiting));
        let writer = writer.map_err(|error| Error::NotStarted(format!("the audit log has no thread: {error}")))?;
        Ok(Self { lines: Mutex::new(Some(lines)), writer: Mutex::new(Some(writer)), lost: AtomicU64::new(0) })
    }

    /// How many events were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl AuditSink for AuditLog {
    fn take(&self, line: Vec<u8>) {
        let sent = self.lines.lock().as_ref().map(|lines| lines.try_send(line));
        if matches!(sent, Some(Ok(()))) {
            return;
        }
        let lost = self.lost.fetch_add(1, Ordering::Relaxed);
        if lost.is_multiple_of(SAID_AGAIN) {
            let why = match sent {
                Some(Err(TrySendError::Full(_))) => "it is written too slowly",
                _ => "it is closed, or its writer has ended",
            };
            crate::stderr::line(format_args!("audit log: {} events are lost: {why}", lost + 1));
        }
    }

    fn close(&self) {
        self.lines.lock().take();
        let writer = self.writer.lock().take();
        // One that has panicked has said so.
        let _ = writer.map(JoinHandle::join);
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes until nobody has anything to say any more. An event that cannot be written is said, and the next tried.
fn write(mut out: Box<dyn Write + Send>, waiting: &Receiver<Vec<u8>>) {
    while let Ok(line) = waiting.recv() {
        let mut lines = line;
        lines.extend(waiting.try_iter().take(WAITING).flatten());
        if let Err(error) = out.write_all(&lines).and_then(|()| out.flush()) {
            let count = lines.iter().filter(|byte| **byte == b'\n').count();
            crate::stderr::line(format_args!("audit log: {count} events are lost: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A disk that takes nothing before it is let.
    struct Stuck(std::sync::mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            self.1.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_is_stuck_holds_up_nobody_and_what_is_lost_is_counted() {
        let (let_go, stuck) = std::sync::mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let log = AuditLog::to(Box::new(Stuck(stuck, Arc::clone(&written)))).unwrap();
        let taken = WAITING * 3;
        (0..taken).for_each(|_| log.take(b"x\n".to_vec()));
        assert!(log.lost() >= WAITING as u64 - 1, "{}", log.lost());
        drop(let_go);
        log.close();
        let lines = written.lock().iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines + usize::try_from(log.lost()).unwrap(), taken);
    }

    #[test]
    fn a_log_goes_on_where_it_ended_and_is_whole_when_it_is_closed() {
        let path = std::env::temp_dir().join(format!("coracle-audit-{}", std::process::id()));
        for line in ["one\n", "two\n"] {
            let log = AuditLog::open(path.to_str().unwrap()).unwrap();
            log.take(line.into());
            log.close();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        std::fs::remove_file(&path).unwrap();
        assert!(AuditLog::open("/nowhere/at/all").is_err());
    }
}
