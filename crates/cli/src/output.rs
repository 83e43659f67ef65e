//! The only output functions of commands: results go to the standard output, notes and errors to the standard error.

use std::fmt::Arguments;
use std::io::{self, Write};

use crate::colours::Weight;
use crate::progress::without_line;
use crate::screen::Screen;
use crate::terminal::plain;

/// The standard output could not be written: its reader has closed it, or its disk is full.
#[derive(Debug)]
pub(crate) struct Unwritten(io::Error);

impl Unwritten {
    /// Whether the reader has closed it, as `head` does: this needs no message.
    pub(crate) fn is_reader_gone(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write to the standard output: {}", self.0)
    }
}

impl std::error::Error for Unwritten {}

/// Prints a line; see [`line`].
macro_rules! out {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}

/// Prints a line that programs read, or that is copied; see [`exact_line`].
macro_rules! exact {
    ($($text:tt)*) => { $crate::output::exact_line(format_args!($($text)*)) };
}

/// Writes a line to the standard error; see [`warn`].
macro_rules! note {
    ($($text:tt)*) => { $crate::output::warn(format_args!($($text)*)) };
}

pub(crate) use {exact, note, out};

/// Prints a text, followed by a newline, as the terminal can show it: in lines that fit, and in colour.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn line(text: Arguments<'_>) -> Result<(), Unwritten> {
    self::text(&Screen::of_output().shown(&format!("{text}\n")))
}

/// Prints a text as it is, followed by a newline.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn exact_line(text: Arguments<'_>) -> Result<(), Unwritten> {
    without_line(|| writeln!(io::stdout().lock(), "{text}")).map_err(Unwritten)
}

/// Prints a text as it is.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn text(text: &str) -> Result<(), Unwritten> {
    without_line(|| io::stdout().lock().write_all(text.as_bytes())).map_err(Unwritten)
}

/// Prints a text that may come from other users, as the terminal can show it: without control characters, in lines that
/// fit, and in colour.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn shown(text: &str) -> Result<(), Unwritten> {
    shown_on(Screen::of_output(), text)
}

/// Like [`shown`], on this screen.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn shown_on(screen: Screen, text: &str) -> Result<(), Unwritten> {
    self::text(&screen.shown(&plain(text)))
}

/// Prints prose that may come from other users: `first` begins its first line, and `rest` spaces begin all others.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn prose(weight: Weight, first: &str, rest: usize, prose: &str) -> Result<(), Unwritten> {
    self::text(&format!("{}\n", Screen::of_output().prose(weight, first, rest, &plain(prose))))
}

/// Flushes printed text that has no newline at its end.
///
/// # Errors
/// If the standard output cannot be written.
pub(crate) fn flush() -> Result<(), Unwritten> {
    io::stdout().lock().flush().map_err(Unwritten)
}

/// Writes a line to the standard error. Errors are ignored, because unread warnings must not end a command.
pub(crate) fn warn(text: Arguments<'_>) {
    let _ = without_line(|| writeln!(io::stderr().lock(), "{text}"));
}

/// Prints an error of clap: help and versions are results, all else is an error.
///
/// # Errors
/// If it is a result, and the standard output cannot be written.
pub(crate) fn print_clap(error: &clap::Error) -> Result<(), Unwritten> {
    let printed = error.print().and_then(|()| io::stdout().lock().flush());
    match printed {
        Err(failure) if !error.use_stderr() => Err(Unwritten(failure)),
        _ => Ok(()),
    }
}
