use std::fmt::Arguments;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;

use super::AuditSink;

/// The maximum number of waiting events. In Kubernetes: `--audit-log-batch-buffer-size`.
const WAITING: usize = 10_000;
/// The maximum number of bytes of waiting events. A larger event waits alone.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of bytes in one write.
const AT_ONCE: usize = 1024 * 1024;

/// The audit log in a file, or on the standard output. A thread of its own writes, so that a slow disk delays no
/// request. When more events or bytes wait than there is room for, the next events are lost. They are counted, and the
/// standard error says when the loss begins and ends. In Kubernetes: `plugin/pkg/audit/log`, in batches.
#[derive(Debug)]
pub struct AuditLog {
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    state: Arc<State>,
    /// The number of lost events when the current loss began.
    losing: Mutex<Option<u64>>,
}

/// The state that the log and its writer share.
#[derive(Debug, Default)]
struct State {
    waiting_bytes: AtomicUsize,
    /// The number of events without room.
    without_room: AtomicU64,
    /// The number of events that could not be written.
    not_written: AtomicU64,
}

/// Why an audit log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum AuditLogError {
    /// The file cannot be opened.
    #[error("{path}: {source}")]
    Unwritable {
        /// The file.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The system starts no thread for the writer.
    #[error("the audit log has no thread: {0}")]
    NoThread(#[source] std::io::Error),
}

impl AuditLog {
    /// Opens the log at `path`; `-` is the standard output. Only its owner may read a new file. Events are appended to
    /// an existing file.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &str) -> Result<Self, AuditLogError> {
        let out: Box<dyn Write + Send> = match path {
            "-" => Box::new(std::io::stdout()),
            path => {
                let failed = |source| AuditLogError::Unwritable { path: path.to_owned(), source };
                let mut options = File::options();
                options.create(true).append(true);
                // A file of WASI has no owner.
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                Box::new(options.open(path).map_err(failed)?)
            }
        };
        Self::to(out)
    }

    fn to(out: Box<dyn Write + Send>) -> Result<Self, AuditLogError> {
        let (lines, waiting) = sync_channel(WAITING);
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let writer = std::thread::Builder::new().name("audit-log".to_owned()).spawn(move || {
            write(out, &waiting, &shared);
        });
        let writer = writer.map_err(AuditLogError::NoThread)?;
        Ok(Self { lines: Mutex::new(Some(lines)), writer: Mutex::new(Some(writer)), state, losing: Mutex::default() })
    }

    /// Passes an event to the writer, or returns why there is no room.
    fn send(&self, line: Vec<u8>) -> Result<(), &'static str> {
        let bytes = line.len();
        let before = self.state.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_full = before > 0 && before + bytes > WAITING_BYTES;
        let sent = if is_full { None } else { self.lines.lock().as_ref().map(|lines| lines.try_send(line)) };
        if matches!(sent, Some(Ok(()))) {
            return Ok(());
        }
        self.state.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let is_slow = is_full || matches!(sent, Some(Err(TrySendError::Full(_))));
        Err(if is_slow { "it is written too slowly" } else { "it is closed, or its writer has ended" })
    }

    /// Reports the beginning of a loss once.
    fn say_loss(&self, why: &str) {
        let before = self.state.without_room.fetch_add(1, Ordering::Relaxed);
        let mut losing = self.losing.lock();
        if losing.is_none() {
            *losing = Some(before);
            report(format_args!("audit log: events are lost from now on: {why}"));
        }
    }

    /// Says once that events are kept again, when half of the room is free: not with each event.
    fn say_end_of_loss(&self) {
        let mut losing = self.losing.lock();
        if losing.is_none() || self.state.waiting_bytes.load(Ordering::Relaxed) > WAITING_BYTES / 2 {
            return;
        }
        if let Some(before) = losing.take() {
            let count = self.state.without_room.load(Ordering::Relaxed) - before;
            report(format_args!("audit log: {count} events were lost; events are kept again"));
        }
    }
}

impl AuditSink for AuditLog {
    fn take(&self, line: Vec<u8>) {
        match self.send(line) {
            Ok(()) => self.say_end_of_loss(),
            Err(why) => self.say_loss(why),
        }
    }

    fn lost(&self) -> Vec<(&'static str, u64)> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![("buffered", count(&self.state.without_room)), ("log", count(&self.state.not_written))]
    }

    fn close(&self) {
        self.lines.lock().take();
        let writer = self.writer.lock().take();
        // A panic of the writer was already reported.
        let _ = writer.map(JoinHandle::join);
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes until the log is closed. A failed write is counted and reported, and the next event is tried.
fn write(mut out: Box<dyn Write + Send>, waiting: &Receiver<Vec<u8>>, state: &State) {
    while let Ok(line) = waiting.recv() {
        let mut lines = line;
        for line in waiting.try_iter().take(WAITING) {
            lines.extend(line);
            if lines.len() >= AT_ONCE {
                break;
            }
        }
        if let Err(error) = out.write_all(&lines).and_then(|()| out.flush()) {
            let count = lines.iter().filter(|byte| **byte == b'\n').count();
            state.not_written.fetch_add(count as u64, Ordering::Relaxed);
            report(format_args!("audit log: {count} events are lost: {error}"));
        }
        state.waiting_bytes.fetch_sub(lines.len(), Ordering::Relaxed);
    }
}

/// Writes a line to the standard error. A closed standard error must not end the server.
fn report(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
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

    /// A log whose disk is stuck until the sender is dropped, and what is written then.
    fn stuck() -> (AuditLog, std::sync::mpsc::Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (let_go, stuck) = std::sync::mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let log = AuditLog::to(Box::new(Stuck(stuck, Arc::clone(&written)))).unwrap();
        (log, let_go, written)
    }

    fn without_room(log: &AuditLog) -> usize {
        let [("buffered", lost), ("log", 0)] = log.lost()[..] else { panic!("{:?}", log.lost()) };
        usize::try_from(lost).unwrap()
    }

    #[test]
    fn a_disk_that_is_stuck_delays_no_request_and_what_is_lost_is_counted() {
        let (log, let_go, written) = stuck();
        let taken = WAITING * 3;
        (0..taken).for_each(|_| log.take(b"x\n".to_vec()));
        assert!(without_room(&log) >= WAITING - 1, "{}", without_room(&log));
        drop(let_go);
        log.close();
        let lines = written.lock().iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines + without_room(&log), taken);
    }

    #[test]
    fn large_events_that_wait_are_bounded_in_bytes_and_one_larger_than_all_is_kept() {
        let (log, let_go, written) = stuck();
        let event = |bytes: usize| [vec![b'x'; bytes], b"\n".to_vec()].concat();
        log.take(event(WAITING_BYTES + 1));
        assert_eq!(without_room(&log), 0);
        (0..100).for_each(|_| log.take(event(1_000_000)));
        assert_eq!((without_room(&log), log.losing.lock().is_some()), (100, true));
        drop(let_go);
        while log.state.waiting_bytes.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        (0..100).for_each(|_| log.take(event(100_000)));
        log.close();
        assert_eq!((without_room(&log), log.losing.lock().is_some()), (100, false));
        assert_eq!(written.lock().iter().filter(|byte| **byte == b'\n').count(), 101);
    }

    #[test]
    fn an_audit_log_is_appended_and_complete_after_close() {
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

    /// A disk that is full.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn events_that_cannot_be_written_are_counted() {
        let log = AuditLog::to(Box::new(Full)).unwrap();
        (0..3).for_each(|_| log.take(b"x\n".to_vec()));
        log.close();
        assert_eq!(log.lost(), [("buffered", 0), ("log", 3)]);
    }
}
