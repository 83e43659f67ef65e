use std::fmt::Write as _;

/// The text in double quotes, with the escapes that Go's `%q` writes: what messages of Kubernetes quote names and values by.
pub fn go_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            sign if sign.is_ascii_control() => escape(&mut out, format_args!("\\x{:02x}", u32::from(sign))),
            sign if sign.is_control() || sign == '\u{feff}' => {
                escape(&mut out, format_args!("\\u{:04x}", u32::from(sign)))
            }
            sign => out.push(sign),
        }
    }
    out.push('"');
    out
}

fn escape(out: &mut String, code: std::fmt::Arguments<'_>) {
    out.write_fmt(code).expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unprintable_characters_are_escaped_like_go() {
        assert_eq!(go_quote("a \"b\" \\ é"), r#""a \"b\" \\ é""#);
        assert_eq!(go_quote("\n\t\r\u{7}\u{8}\u{b}\u{c}\u{0}\u{7f}"), r#""\n\t\r\a\b\v\f\x00\x7f""#);
        assert_eq!(go_quote("\u{80}\u{feff}"), r#""\u0080\ufeff""#);
    }
}
