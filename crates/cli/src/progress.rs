//! A line at the end of the terminal while a command waits. It appears after a second, and is erased before anything
//! else is written.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use crate::screen::Screen;

/// How long a wait may be without a word, and how often the word is renewed.
const EVERY: Duration = Duration::from_secs(1);
/// Returns to the first column, and empties the line.
const ERASE: &[u8] = b"\r\x1b[2K";

/// Whether a line of progress is on the terminal.
static IS_SHOWN: Mutex<bool> = Mutex::new(false);

/// Shows what a command waits for until it is dropped. Does nothing if the standard error is no terminal.
pub(crate) struct Progress {
    /// Dropped to end the thread.
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows what these words describe.
    pub(crate) fn of(words: impl Into<String>) -> Self {
        let words = words.into();
        Self::changing(move || words.clone())
    }

    /// Shows the words of each second.
    pub(crate) fn changing(words: impl Fn() -> String + Send + 'static) -> Self {
        let screen = Screen::of_errors();
        if !screen.can_redraw() {
            return Self { ends: None, thread: None };
        }
        let (ends, ended) = mpsc::channel();
        #[expect(clippy::disallowed_methods, reason = "the terminal lives on the machine's clock")]
        let thread = std::thread::spawn(move || {
            let mut seconds = 0;
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                seconds += EVERY.as_secs();
                show(&line(&words(), seconds, screen));
            }
            without_line(|| ());
        });
        Self { ends: Some(ends), thread: Some(thread) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ends = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The words with the seconds of the wait. One column stays free, because some terminals wrap after the last one.
fn line(words: &str, seconds: u64, screen: Screen) -> String {
    let end = format!("  {seconds} s");
    let room = screen.width().saturating_sub(end.len() + 1);
    screen.one_line(words, room) + &end
}

fn show(line: &str) {
    let mut is_shown = IS_SHOWN.lock();
    let mut errors = io::stderr().lock();
    // Progress that cannot be written is of no use to anybody.
    let _ = errors.write_all(ERASE).and_then(|()| write!(errors, "{line}")).and_then(|()| errors.flush());
    *is_shown = true;
}

/// Writes something else: the line of progress is erased before it, and shown again in the next second.
pub(crate) fn without_line<R>(write: impl FnOnce() -> R) -> R {
    let mut is_shown = IS_SHOWN.lock();
    if *is_shown {
        let mut errors = io::stderr().lock();
        let _ = errors.write_all(ERASE).and_then(|()| errors.flush());
        *is_shown = false;
    }
    write()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_ends_with_the_seconds_and_leaves_a_column_free() {
        let screen = Screen::of_errors();
        assert_eq!(line("starting the cluster", 7, screen), "starting the cluster  7 s");
        let long = line(&"a".repeat(500), 12, screen);
        assert!(long.ends_with("a  12 s") && long.len() == screen.width() - 1, "{long}");
    }
}
