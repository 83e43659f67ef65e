use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::certificate_file::CertificateFile;
use crate::error::CertificateFileError;

/// A value that is read from files, and read again when the files change.
///
/// Nothing polls: each access compares the lengths and modification times of the files, and reads the files only if
/// these differ. If files cannot be read, or do not match (a certificate is replaced before its key), the previous
/// value stays. This is reported once for each state of the files.
///
/// In Kubernetes: `dynamiccertificates`, which uses notifications of the file system and polls once a minute.
pub struct FileWatcher<T> {
    files: Vec<CertificateFile>,
    /// The minimum time between two checks of the files.
    pause: Duration,
    read: Read<T>,
    state: Mutex<State<T>>,
}

/// Makes something of the files' texts.
type Read<T> = Box<dyn Fn(&[String]) -> Result<Arc<T>, String> + Send + Sync>;

struct State<T> {
    current: Arc<T>,
    seen: Vec<Option<Stamp>>,
    looked: Instant,
}

/// What identifies a version of a file: its modification time and its length.
type Stamp = (Option<SystemTime>, u64);

impl<T> FileWatcher<T> {
    /// Reads files with `read`, which gets their texts in order.
    ///
    /// # Errors
    /// If a file cannot be read, or `read` refuses the texts.
    pub fn open(
        files: Vec<CertificateFile>,
        pause: Duration,
        read: impl Fn(&[String]) -> Result<Arc<T>, String> + Send + Sync + 'static,
    ) -> Result<Self, CertificateFileError> {
        let seen = stamps(&files);
        let current = read(&texts(&files)?).map_err(CertificateFileError::Invalid)?;
        let state = Mutex::new(State { current, seen, looked: Instant::now() });
        Ok(Self { files, pause, read: Box::new(read), state })
    }

    /// A value without files, which never changes.
    pub fn fixed(current: Arc<T>) -> Self {
        let state = State { current: Arc::clone(&current), seen: Vec::new(), looked: Instant::now() };
        let read = |_: &[String]| Err("it has no files".to_owned());
        Self { files: Vec::new(), pause: Duration::ZERO, read: Box::new(read), state: Mutex::new(state) }
    }

    /// What the files say now, or said last when they made sense.
    pub fn current(&self) -> Arc<T> {
        let mut state = self.state.lock();
        if self.files.iter().all(|file| file.path().is_none()) || state.looked.elapsed() < self.pause {
            return Arc::clone(&state.current);
        }
        state.looked = Instant::now();
        let now = stamps(&self.files);
        if now != state.seen {
            match self.read_again() {
                Ok(read) => state.current = read,
                // A closed standard error must not end the server.
                Err(error) => drop(writeln!(
                    std::io::stderr().lock(),
                    "{}: changed, but what was read before stays: {error}",
                    self.names()
                )),
            }
            state.seen = now;
        }
        Arc::clone(&state.current)
    }

    fn read_again(&self) -> Result<Arc<T>, CertificateFileError> {
        (self.read)(&texts(&self.files)?).map_err(CertificateFileError::Invalid)
    }

    fn names(&self) -> String {
        let names = self.files.iter().filter_map(CertificateFile::path).map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }
}

impl<T> fmt::Debug for FileWatcher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWatcher").field("files", &self.files).finish_non_exhaustive()
    }
}

fn texts(files: &[CertificateFile]) -> Result<Vec<String>, CertificateFileError> {
    files.iter().map(CertificateFile::text).collect()
}

fn stamps(files: &[CertificateFile]) -> Vec<Option<Stamp>> {
    let stamp = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.modified().ok(), file.len()));
    files.iter().filter_map(CertificateFile::path).map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes with the test.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("coracle-watcher-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, name: &str, text: &str) -> CertificateFile {
            let path = self.0.join(name);
            std::fs::write(&path, text).unwrap();
            CertificateFile::File(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn sum(texts: &[String]) -> Result<Arc<i64>, String> {
        let numbers: Result<Vec<i64>, _> = texts.iter().map(|text| text.parse()).collect();
        numbers.map(|numbers| Arc::new(numbers.iter().sum())).map_err(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn changed_files_are_reloaded_and_invalid_ones_keep_the_last_value() {
        let folder = Folder::new("files");
        let files = vec![folder.write("a", "1"), folder.write("b", "20"), CertificateFile::from("300")];
        let watcher = FileWatcher::open(files, Duration::ZERO, sum).unwrap();
        assert_eq!(*watcher.current(), 321);
        folder.write("a", "half a wor");
        assert_eq!(*watcher.current(), 321);
        folder.write("a", "1000");
        assert_eq!(*watcher.current(), 1320);
        std::fs::remove_file(folder.0.join("b")).unwrap();
        assert_eq!(*watcher.current(), 1320);
        folder.write("b", "5");
        assert_eq!(*watcher.current(), 1305);
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_not_checked_again_within_the_pause() {
        let folder = Folder::new("pause");
        let files = vec![folder.write("a", "1")];
        let watcher = FileWatcher::open(files, Duration::from_secs(1), sum).unwrap();
        folder.write("a", "22");
        assert_eq!(*watcher.current(), 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(*watcher.current(), 22);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_unreadable_at_first_is_an_error_with_its_path() {
        let missing = CertificateFile::File("/no/such/file".into());
        let error = FileWatcher::open(vec![missing], Duration::ZERO, sum).unwrap_err().to_string();
        assert!(error.starts_with("/no/such/file: "), "{error}");
    }
}
