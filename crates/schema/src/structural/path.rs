/// How many bytes the names of a path in a message have at most. A name may be as long as a body, and stand in the path of
/// each field below it.
const LONGEST: usize = 4 << 10;

/// The path of a field below another, with what stands before and after its name: `[` and `]`, or `.` and nothing. Of a
/// name that makes the path longer than 4 KiB the first part is shown, and what lies below has the path of that field.
pub fn path_below(path: &str, before: &str, name: &str, after: &str) -> String {
    let Some(room) = LONGEST.checked_sub(path.len()).filter(|room| *room > 0) else { return path.to_owned() };
    if name.len() <= room {
        return format!("{path}{before}{name}{after}");
    }
    let end = (0..=room).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    format!("{path}{before}{}…{after}", &name[..end])
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
