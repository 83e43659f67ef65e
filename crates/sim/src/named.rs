/// Whether an object has this name, or one that begins with what is before a `*` at the end.
pub(crate) fn is_named(name: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == wanted,
    }
}
