use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to the standard error. That its reader has gone ends no server: an error is ignored.
pub(crate) fn line(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
