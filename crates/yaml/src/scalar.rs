//! Strings as go-yaml 2 writes them: plain if that reads back as the same string, otherwise in single quotes. Double
//! quotes are for strings that would be read as another type or cannot be printed. Strings with several lines are
//! blocks.

/// The column after which a string is broken at its next space.
const WIDTH: usize = 80;

/// Appends a string to `out`. A value may take several lines, which are indented by `below`; a key may not.
pub(crate) fn write_text(text: &str, below: Option<usize>, out: &mut String) {
    let shape = Shape::of(text);
    let mut writer = Writer { column: out.chars().rev().take_while(|sign| *sign != '\n').count(), below, out };
    if text.contains('\n') {
        match below {
            Some(below) if shape.block => writer.block(text, below),
            _ => writer.double_quoted(text),
        }
    } else if reads_as_something_else(text) {
        writer.double_quoted(text);
    } else if shape.plain {
        writer.folded(text);
    } else if shape.single {
        writer.single_quoted(text);
    } else {
        writer.double_quoted(text);
    }
}

/// The forms in which a string can be written. In Kubernetes: `yaml_emitter_analyze_scalar`.
struct Shape {
    plain: bool,
    single: bool,
    block: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self { plain: false, single: true, block: false };
        }
        let signs: Vec<char> = text.chars().collect();
        let is_blank = |at: usize| signs.get(at).is_none_or(|sign| matches!(sign, ' ' | '\t' | '\n' | '\r'));
        let mut indicates = text.starts_with("---") || text.starts_with("...");
        for (at, sign) in signs.iter().enumerate() {
            indicates |= match sign {
                '#' => at == 0 || is_blank(at - 1),
                ':' => is_blank(at + 1),
                '?' | '-' => at == 0 && is_blank(1),
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => at == 0,
                _ => false,
            };
        }
        let special = signs.iter().any(|sign| !is_printable(*sign));
        let (leading, trailing) = (signs[0] == ' ', signs[signs.len() - 1] == ' ');
        let space_break = text.contains(" \n");
        Self {
            plain: !indicates && !special && !leading && !trailing,
            single: !special && !space_break,
            block: !special && !trailing && !space_break,
        }
    }
}

fn is_printable(sign: char) -> bool {
    sign == '\n'
        || !(sign.is_control() || matches!(sign, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'))
}

/// Whether a plain string would be read as a bool, a number, a time or null. In Kubernetes: go-yaml's `resolve`.
fn reads_as_something_else(text: &str) -> bool {
    const WORDS: [&str; 40] = [
        "", "~", "null", "Null", "NULL", "<<", "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true",
        "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF", ".nan", ".NaN", ".NAN",
        ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
    ];
    if WORDS.contains(&text) {
        return true;
    }
    text.starts_with(|sign: char| sign.is_ascii_digit() || "+-.".contains(sign))
        && (is_number(text) || is_time(text) || is_sexagesimal(text))
}

fn is_number(text: &str) -> bool {
    let digits = text.replace('_', "");
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(&digits);
    let of_base = |prefixes: [&str; 2], base: u32| {
        let rest = prefixes.iter().find_map(|prefix| unsigned.strip_prefix(prefix));
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|sign| sign.is_digit(base)))
    };
    of_base(["0x", "0X"], 16) || of_base(["0o", "0O"], 8) || of_base(["0b", "0B"], 2) || is_decimal(unsigned)
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    !(whole.is_empty() && fraction.is_empty())
        && all_digits(whole)
        && all_digits(fraction)
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent))
}

fn is_time(text: &str) -> bool {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let is_date = parts.len() == 3
        && parts[0].len() == 4
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && parts[1..].iter().all(|part| part.len() <= 2);
    is_date && time.is_none_or(|time| time.starts_with(|sign: char| sign.is_ascii_digit()) && time.contains(':'))
}

fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = unsigned.split('.').next().unwrap_or("");
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or("");
    let rest: Vec<&str> = parts.collect();
    first.starts_with(|sign: char| sign.is_ascii_digit())
        && first.chars().all(|sign| sign.is_ascii_digit() || sign == '_')
        && !rest.is_empty()
        && rest.iter().all(|part| matches!(part.parse::<u8>(), Ok(0..=59)) && part.len() <= 2)
}

/// A string that is being written.
struct Writer<'o> {
    column: usize,
    below: Option<usize>,
    out: &'o mut String,
}

impl Writer<'_> {
    fn put(&mut self, sign: char) {
        self.out.push(sign);
        self.column += 1;
    }

    /// Replaces a space by a line break if the line is long enough.
    fn breaks_at(&mut self, signs: &[char], at: usize) -> bool {
        let stands_alone = at > 0 && at + 1 < signs.len() && signs[at - 1] != ' ' && signs[at + 1] != ' ';
        match self.below {
            Some(below) if self.column > WIDTH && stands_alone => {
                self.out.push('\n');
                self.out.extend(std::iter::repeat_n(' ', below));
                self.column = below;
                true
            }
            _ => false,
        }
    }

    fn folded(&mut self, text: &str) {
        let signs: Vec<char> = text.chars().collect();
        for (at, sign) in signs.iter().enumerate() {
            if *sign != ' ' || !self.breaks_at(&signs, at) {
                self.put(*sign);
            }
        }
    }

    fn single_quoted(&mut self, text: &str) {
        self.put('\'');
        let signs: Vec<char> = text.chars().collect();
        for (at, sign) in signs.iter().enumerate() {
            if *sign == ' ' && self.breaks_at(&signs, at) {
                continue;
            }
            if *sign == '\'' {
                self.put('\'');
            }
            self.put(*sign);
        }
        self.put('\'');
    }

    fn double_quoted(&mut self, text: &str) {
        self.put('"');
        let signs: Vec<char> = text.chars().collect();
        for (at, sign) in signs.iter().enumerate() {
            if *sign == ' ' && self.breaks_at(&signs, at) {
                continue;
            }
            let escaped = match sign {
                '\0' => "\\0".to_owned(),
                '\u{7}' => "\\a".to_owned(),
                '\u{8}' => "\\b".to_owned(),
                '\t' => "\\t".to_owned(),
                '\n' => "\\n".to_owned(),
                '\u{b}' => "\\v".to_owned(),
                '\u{c}' => "\\f".to_owned(),
                '\r' => "\\r".to_owned(),
                '\u{1b}' => "\\e".to_owned(),
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\u{85}' => "\\N".to_owned(),
                '\u{2028}' => "\\L".to_owned(),
                '\u{2029}' => "\\P".to_owned(),
                sign if is_printable(*sign) => sign.to_string(),
                sign if u32::from(*sign) <= 0xff => format!("\\x{:02X}", u32::from(*sign)),
                sign => format!("\\u{:04X}", u32::from(*sign)),
            };
            escaped.chars().for_each(|sign| self.put(sign));
        }
        self.put('"');
    }

    /// Writes a block, line by line; the indicators after the bar describe the beginning and the end of the string.
    fn block(&mut self, text: &str, below: usize) {
        self.out.push('|');
        if text.starts_with([' ', '\n']) {
            self.out.push('2');
        }
        match text.strip_suffix('\n') {
            None => self.out.push('-'),
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => self.out.push('+'),
            Some(_) => {}
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.out.push('\n');
            if !line.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', below));
                self.out.push_str(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut out = "message: ".to_owned();
        write_text(text, Some(2), &mut out);
        out.split_off("message: ".len())
    }

    #[test]
    fn texts_are_quoted_where_they_would_be_read_otherwise() {
        for (text, want) in [
            ("a", "a"),
            (".", "."),
            ("k:{\"name\":\"c\"}", "k:{\"name\":\"c\"}"),
            ("configmaps \"c\" not found", "configmaps \"c\" not found"),
            ("a: b", "'a: b'"),
            ("it's: so", "'it''s: so'"),
            ("- x", "'- x'"),
            ("yes", "\"yes\""),
            ("0x1f", "\"0x1f\""),
            ("1e3", "\"1e3\""),
            ("12:30", "\"12:30\""),
            ("2026-11-22T03:04:05Z", "\"2026-11-22T03:04:05Z\""),
            ("29dc02ca-9c76-4e41-8e3d-cad9244f6507", "29dc02ca-9c76-4e41-8e3d-cad9244f6507"),
            ("qFsyl6wFWjQ=", "qFsyl6wFWjQ="),
            ("a\tb", "\"a\\tb\""),
            ("a\nb\n", "|\n  a\n  b"),
            ("a\n\nb", "|-\n  a\n\n  b"),
        ] {
            assert_eq!(written(text), want);
        }
    }

    #[test]
    fn long_texts_are_broken_at_the_first_space_behind_the_eightieth_column() {
        let text = "only the following media types are accepted: application/json;stream=watch, application/x";
        let want = "'only the following media types are accepted: application/json;stream=watch,\n  application/x'";
        assert_eq!(written(text), want);
    }

    proptest! {
        #[test]
        fn written_strings_are_read_as_the_same_string(text in "[ -~äß\\n\\t]{0,120}") {
            let mut out = "key: ".to_owned();
            write_text(&text, Some(2), &mut out);
            out.push('\n');
            let value = serde_json::Value::from(&crate::YamlNode::parse(&out).unwrap());
            prop_assert_eq!(value["key"].as_str(), Some(text.as_str()), "{}", out);
        }
    }
}
