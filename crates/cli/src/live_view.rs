//! The live view in the terminal while a scenario runs.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_viewer::lanes;

use crate::screen::Screen;

/// How often the view is drawn, by the machine's clock.
const EVERY: Duration = Duration::from_millis(100);
/// How many pods are shown.
const LANES: usize = 8;

/// Draws a scenario's event log while it grows; does nothing without a terminal.
pub(crate) struct LiveView {
    wanted: bool,
    screen: Screen,
    ended: Arc<AtomicBool>,
    thread: RefCell<Option<JoinHandle<()>>>,
}

impl LiveView {
    pub(crate) fn for_terminal(wanted: bool, screen: Screen) -> Self {
        Self { wanted: wanted && screen.can_redraw(), screen, ended: Arc::default(), thread: RefCell::default() }
    }

    /// Whether there is something to see.
    pub(crate) fn is_shown(&self) -> bool {
        self.wanted
    }

    /// Starts to draw, in a separate thread, because the scenario's clock may pause or jump.
    pub(crate) fn follow(&self, name: &str, recorder: &Recorder) {
        if !self.wanted {
            return;
        }
        let (name, recorder, ended, screen) = (name.to_owned(), recorder.clone(), Arc::clone(&self.ended), self.screen);
        #[expect(clippy::disallowed_methods, reason = "the terminal lives on the machine's clock")]
        let thread = std::thread::spawn(move || {
            let (mut drawn, mut entries) = (0, Vec::new());
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(EVERY);
                let next = entries.last().map_or(EntryId(0), |last: &Entry| EntryId(last.id.0 + 1));
                entries.extend(recorder.entries(next));
                drawn = redraw(&block(&name, &entries, screen), drawn);
            }
            erase(drawn);
        });
        *self.thread.borrow_mut() = Some(thread);
    }

    /// Stops drawing and removes the view.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.borrow_mut().take() {
            let _ = thread.join();
        }
    }
}

/// The lines to draw. Each fits into one row of the terminal, because rows are erased by their number.
fn block(name: &str, entries: &[Entry], screen: Screen) -> Vec<String> {
    let step = entries.iter().rev().find(|entry| entry.stage == Stage::StepStart);
    let step = step.and_then(|entry| entry.data.get("name")).and_then(|name| name.as_str()).unwrap_or("");
    let at = entries.last().map_or(0.0, |entry| entry.at.as_secs_f64());
    let revision = entries.iter().rev().find_map(|entry| entry.revision).unwrap_or_default();
    let width = screen.width();
    let head = screen.one_line(&format!(" {name}   t {at:.3} s   rev {revision}   {step}"), width);
    let lanes = lanes(entries, width, LANES).lanes;
    std::iter::once(head).chain(lanes.iter().map(|lane| screen.lane(lane))).collect()
}

fn redraw(lines: &[String], drawn: usize) -> usize {
    erase(drawn);
    let mut out = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
    lines.len()
}

fn erase(lines: usize) {
    let mut out = std::io::stdout().lock();
    for _ in 0..lines {
        let _ = write!(out, "\x1b[1A\x1b[2K");
    }
    let _ = out.flush();
}
