use super::Stop;
use super::shell::Shell;

/// `printf FORMAT [WORD...]`: `%s`, `%d`, `%%`, and escapes; the format is repeated while there are words.
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    let Some((format, words)) = arguments.split_first() else {
        shell.complain("printf: usage: printf FORMAT [ARGUMENT]...");
        return Ok(1);
    };
    let format = unescaped(format);
    let mut words = words.iter();
    loop {
        let before = words.len();
        let text = once(&format, &mut words);
        shell.print(&text);
        if words.len() == 0 || words.len() == before {
            return Ok(0);
        }
    }
}

fn once<'w>(format: &str, words: &mut impl Iterator<Item = &'w String>) -> String {
    let mut text = String::new();
    let mut signs = format.chars();
    while let Some(sign) = signs.next() {
        match (sign, sign == '%') {
            (_, true) => match signs.next() {
                Some('s') => text.push_str(words.next().map_or("", String::as_str)),
                Some('d') => {
                    let number = words.next().and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
                    text.push_str(&number.to_string());
                }
                Some(other) => text.push(other),
                None => text.push('%'),
            },
            (sign, false) => text.push(sign),
        }
    }
    text
}

/// Replaces escapes like `\n` and `\t`.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match (sign, sign == '\\') {
            (_, true) => match signs.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some('0') => plain.push('\0'),
                Some('\\') | None => plain.push('\\'),
                Some(other) => plain.extend(['\\', other]),
            },
            (sign, false) => plain.push(sign),
        }
    }
    plain
}
