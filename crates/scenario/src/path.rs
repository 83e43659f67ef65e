/// One element of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// A field, or a key of a map.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// The elements of a path such as `{.status.phase}` or `.spec.containers[0].image`.
///
/// # Errors
/// If the text is not such a path.
pub(crate) fn path_of(path: &str) -> Result<Vec<Position>, String> {
    let wrong = || format!("`{path}` is not a path such as `{{.status.phase}}`: field names and list positions only");
    let inner = match path.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(wrong)?,
        None => path,
    };
    let mut positions = Vec::new();
    for step in inner.trim_start_matches('.').split('.') {
        let (name, items) = step.split_once('[').map_or((step, ""), |(name, rest)| (name, rest));
        if !name.is_empty() {
            positions.push(Position::Key(name.to_owned()));
        }
        for item in items.split('[').filter(|item| !item.is_empty()) {
            let item = item.strip_suffix(']').and_then(|item| item.parse().ok()).ok_or_else(wrong)?;
            positions.push(Position::Item(item));
        }
    }
    if positions.is_empty() { Err(wrong()) } else { Ok(positions) }
}
