use std::io;
use std::path::Path;

/// The text of a file, or of the standard input for `-`.
pub(crate) fn read_text(file: &Path) -> io::Result<String> {
    if file == Path::new("-") { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(file) }
}
