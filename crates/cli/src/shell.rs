use std::path::Path;

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+,:@%".contains(character);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}
