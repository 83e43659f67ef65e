//! A line of input as words, by the rules of a shell: quotes, and escapes with a backslash.

/// What of a shell the console does not have, by the sign that asks for it.
const REFUSED: &[(char, &str)] = &[
    ('|', "pipes are not supported: the console runs one command at a time"),
    ('>', "redirections are not supported: the console has no files to write to"),
    ('<', "redirections are not supported: pass the text as standard input"),
    (';', "the console runs one command at a time: ';' is not supported"),
    ('&', "the console runs one command at a time: '&' is not supported"),
    ('`', "command substitution is not supported"),
];

/// Splits a line into words.
///
/// # Errors
/// An open quote, a backslash at the end, or a part of a shell that the console does not have.
pub(crate) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next() {
                        Some('\'') => break,
                        Some(sign) => word.push(sign),
                        None => return Err("unterminated single quote".to_owned()),
                    }
                }
            }
            '"' => double_quoted(&mut signs, word.get_or_insert_default())?,
            '\\' => match signs.next() {
                Some('\n') => {}
                Some(sign) => word.get_or_insert_default().push(sign),
                None => return Err("a backslash at the end of the line escapes nothing".to_owned()),
            },
            '#' if word.is_none() => break,
            sign if sign.is_whitespace() => words.extend(word.take()),
            '$' if signs.peek() == Some(&'(') => return Err("command substitution is not supported".to_owned()),
            sign => match REFUSED.iter().find(|(refused, _)| *refused == sign) {
                Some((_, why)) => return Err((*why).to_owned()),
                None => word.get_or_insert_default().push(sign),
            },
        }
    }
    words.extend(word);
    Ok(words)
}

fn double_quoted(signs: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), String> {
    loop {
        match signs.next() {
            Some('"') => return Ok(()),
            Some('\\') => match signs.next() {
                Some('\n') => {}
                Some(sign @ ('"' | '\\' | '$' | '`')) => word.push(sign),
                Some(sign) => word.extend(['\\', sign]),
                None => return Err("unterminated double quote".to_owned()),
            },
            Some(sign) => word.push(sign),
            None => return Err("unterminated double quote".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_end_at_white_space_outside_of_quotes() {
        for (line, words) in [
            ("  get  pods ", &["get", "pods"][..]),
            (r#"a 'b c' "d 'e'" f"g"h"#, &["a", "b c", "d 'e'", "fgh"]),
            (r#"patch -p '{"a":"b|c"}'"#, &["patch", "-p", r#"{"a":"b|c"}"#]),
            (r#""a\"b\n" c\ d ''"#, &["a\"b\\n", "c d", ""]),
            ("get pods # a comment", &["get", "pods"]),
            ("a#b", &["a#b"]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        for line in ["get pods | wc", "a > b", "a < b", "a; b", "a && b", "a `b`", "a $(b)", "'a", "\"a", "a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_are_read_as_they_were(words in prop::collection::vec("\\PC{0,8}", 0..6)) {
            let line: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(split(&line.join(" ")).unwrap(), words);
        }

        #[test]
        fn no_line_panics(line in ".{0,40}") {
            let _ = split(&line);
        }
    }
}
