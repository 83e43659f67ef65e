use std::path::Path;

/// A path, quoted for a shell if necessary.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+,:@%".contains(character);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}
