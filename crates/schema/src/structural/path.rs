use coracle_meta::Status;

/// The maximum length of a path in messages, in bytes. A name may be as long as a body, and is in the path of each
/// field below it.
const LONGEST: usize = 4 << 10;

/// The maximum length of the texts of errors in one object, in bytes: more than a response lists. Further errors are
/// only counted, or left out.
pub(super) const MOST_TEXT: usize = 2 * Status::LISTED_BYTES;

/// The path of a field below another, with the text before and after its name: `[` and `]`, or `.` and nothing. A name
/// that makes the path longer than 4 KiB is truncated, and the fields below have the path of that field.
pub fn path_below(path: &str, before: &str, name: &str, after: &str) -> String {
    let mut below = String::with_capacity(path.len() + before.len() + name.len().min(LONGEST) + after.len());
    below.push_str(path);
    push_below(&mut below, before, name, after);
    below
}

/// Extends a path like [`path_below`]. Returns its previous length, for [`String::truncate`] afterwards.
pub(super) fn push_below(path: &mut String, before: &str, name: &str, after: &str) -> usize {
    let length = path.len();
    let Some(room) = LONGEST.checked_sub(length).filter(|room| *room > 0) else { return length };
    let end = if name.len() <= room { name.len() } else { name.floor_char_boundary(room) };
    path.push_str(before);
    path.push_str(&name[..end]);
    if end < name.len() {
        path.push('…');
    }
    path.push_str(after);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_usual_names_is_whole_and_one_of_long_names_ends_with_its_first_part() {
        let usual = path_below(".spec.words", "[", "a.example.com/b", "]");
        assert_eq!(usual, ".spec.words[a.example.com/b]");
        let long = path_below(&usual, ".", &"é".repeat(1 << 20), "");
        assert!(long.starts_with(&format!("{usual}.éé")) && long.ends_with("é…"), "{}", long.len());
        assert!((LONGEST..LONGEST + 8).contains(&long.len()), "{}", long.len());
        assert_eq!(path_below(&long, ".", "below", ""), long);
    }
}
