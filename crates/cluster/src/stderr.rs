use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to the standard error. Errors are ignored, because a closed standard error must not end a server.
pub(crate) fn line(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
