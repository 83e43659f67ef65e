//! The one way in which commands print: answers to the standard output, notes and errors to the standard error.

use std::fmt::Arguments;
use std::io::{self, Write};

/// The standard output does not take what a command prints: its reader has gone, or its disk is full.
#[derive(Debug)]
pub(crate) struct Unwritten(io::Error);

impl Unwritten {
    /// Whether the reader has gone, as `head` goes: it has what it wants, so that there is nothing to say.
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

/// Writes a line to the standard error; see [`warn`].
macro_rules! note {
    ($($text:tt)*) => { $crate::output::warn(format_args!($($text)*)) };
}

pub(crate) use {note, out};

/// Prints a text, with a newline behind it.
///
/// # Errors
/// If the standard output does not take it.
pub(crate) fn line(text: Arguments<'_>) -> Result<(), Unwritten> {
    writeln!(io::stdout().lock(), "{text}").map_err(Unwritten)
}

/// Prints a text as it is.
///
/// # Errors
/// If the standard output does not take it.
pub(crate) fn text(text: &str) -> Result<(), Unwritten> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Unwritten)
}

/// Hands on what was printed without a newline at its end.
///
/// # Errors
/// If the standard output does not take it.
pub(crate) fn flush() -> Result<(), Unwritten> {
    io::stdout().lock().flush().map_err(Unwritten)
}

/// Writes a line to the standard error. No command ends because its warnings are not read: an error is ignored.
pub(crate) fn warn(text: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// An error of clap as it is printed: help and versions are answers, all else is an error.
///
/// # Errors
/// If it is an answer, and the standard output does not take it.
pub(crate) fn print_clap(error: &clap::Error) -> Result<(), Unwritten> {
    let printed = error.print().and_then(|()| io::stdout().lock().flush());
    match printed {
        Err(failure) if !error.use_stderr() => Err(Unwritten(failure)),
        _ => Ok(()),
    }
}
