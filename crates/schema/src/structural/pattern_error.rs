//! Why a pattern is none, in the words of Go's `regexp/syntax`.

/// Translates what the `regex` crate says of `pattern`: its report has the pattern in its second line, marks the place
/// below it and ends with the reason. A report in another form is handed on.
pub(super) fn go_text(pattern: &str, report: &str) -> String {
    let lines: Vec<&str> = report.lines().collect();
    let reason = lines.last().and_then(|line| line.strip_prefix("error: "));
    let marks = lines.get(2).filter(|marks| lines.len() == 4 && marks.contains('^'));
    let (Some(reason), Some(marks)) = (reason, marks) else { return report.to_owned() };
    // Both lines are indented alike.
    let skip = marks.chars().take_while(|sign| *sign != '^').count().saturating_sub(INDENTATION);
    let length = marks.chars().filter(|sign| *sign == '^').count();
    let from: String = pattern.chars().skip(skip).collect();
    let marked: String = from.chars().take(length).collect();
    let (code, fragment) = match reason {
        _ if reason.starts_with("look-around") => look_around(&from),
        _ if reason.starts_with("backreferences") => ("invalid escape sequence", marked),
        _ if reason.starts_with("unrecognized escape") => ("invalid escape sequence", marked),
        _ if reason.starts_with("invalid hexadecimal digit") => {
            let before: String = pattern.chars().take(skip + length).collect();
            let start = before.rfind('\\').unwrap_or(0);
            ("invalid escape sequence", before[start..].to_owned())
        }
        _ if reason.starts_with("incomplete escape") => ("trailing backslash at end of expression", String::new()),
        _ if reason.starts_with("unclosed character class") => ("missing closing ]", from),
        _ if reason.starts_with("unclosed group") => ("missing closing )", pattern.to_owned()),
        _ if reason.starts_with("unopened group") => ("unexpected )", pattern.to_owned()),
        _ if reason.starts_with("repetition operator missing") => ("missing argument to repetition operator", marked),
        _ if reason.starts_with("invalid repetition count range") => ("invalid repeat count", marked),
        _ if reason.starts_with("invalid character class range") => ("invalid character class range", marked),
        _ if reason.starts_with("Unicode property not found") => ("invalid character class range", marked),
        _ if reason.starts_with("invalid capture group character") => ("invalid named capture", pattern.to_owned()),
        _ if reason.starts_with("unrecognized flag") => {
            let end = skip + length;
            let start = pattern.chars().take(skip).collect::<String>().rfind("(?").unwrap_or(0);
            let before = pattern[..start].chars().count();
            let fragment = pattern.chars().skip(before).take(end - before).collect();
            ("invalid or unsupported Perl syntax", fragment)
        }
        _ => return format!("error parsing regexp: {reason}"),
    };
    format!("error parsing regexp: {code}: `{fragment}`")
}

/// Why Go refuses a pattern that the `regex` crate takes: a repetition of a repetition, one of more than a thousand times,
/// or a class of a name that it does not know.
pub(super) fn go_refusal(pattern: &str) -> Option<String> {
    let refused = |code: &str, fragment: &str| Some(format!("error parsing regexp: {code}: `{fragment}`"));
    let bytes = pattern.as_bytes();
    let (mut at, mut repeated_from) = (0, None);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'\\' => at += 2,
            b'[' => {
                let (end, unknown) = class(pattern, at);
                if let Some(name) = unknown {
                    return refused("invalid character class range", name);
                }
                at = end;
            }
            b'(' if bytes.get(at + 1) == Some(&b'?') => at += 2,
            b'*' | b'+' | b'?' => at += 1,
            b'{' => match counts(&pattern[at..]) {
                Some((length, most)) if most > MOST_REPETITIONS => {
                    return refused("invalid repeat count", &pattern[at..at + length]);
                }
                Some((length, _)) => at += length,
                None => at += 1,
            },
            _ => at += 1,
        }
        let is_repetition = matches!(bytes[start], b'*' | b'+' | b'?') || bytes[start] == b'{' && at > start + 1;
        if !is_repetition {
            repeated_from = None;
            continue;
        }
        if bytes.get(at) == Some(&b'?') {
            at += 1;
        }
        if let Some(from) = repeated_from {
            return refused("invalid nested repetition operator", &pattern[from..at]);
        }
        repeated_from = Some(start);
    }
    None
}

/// How often Go repeats at the most.
const MOST_REPETITIONS: u32 = 1000;

/// The length of `{n}`, `{n,}` or `{n,m}` at the beginning, and the greater of its numbers.
fn counts(text: &str) -> Option<(usize, u32)> {
    let end = text.find('}')?;
    let mut numbers = text[1..end].splitn(2, ',');
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Some(text.parse().unwrap_or(u32::MAX)),
        false => None,
    };
    let least = numbers.next().filter(|text| !text.is_empty()).and_then(number)?;
    let most = match numbers.next() {
        None | Some("") => least,
        Some(text) => number(text)?,
    };
    Some((end + 1, least.max(most)))
}

/// The names that `[:name:]` may have.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Where the class that begins at `at` ends, and the first name in it that no class has.
fn class(pattern: &str, at: usize) -> (usize, Option<&str>) {
    let bytes = pattern.as_bytes();
    let mut end = at + 1;
    end += usize::from(bytes.get(end) == Some(&b'^'));
    end += usize::from(bytes.get(end) == Some(&b']'));
    while end < bytes.len() && bytes[end] != b']' {
        let named = pattern.get(end..).and_then(|rest| rest.strip_prefix("[:")).and_then(|rest| rest.find(":]"));
        match (bytes[end], named) {
            (b'\\', _) => end += 2,
            (b'[', Some(length)) => {
                let whole = &pattern[end..end + length + "[::]".len()];
                let name = whole[2..2 + length].trim_start_matches('^');
                if !CLASSES.contains(&name) {
                    return (end, Some(whole));
                }
                end += whole.len();
            }
            _ => end += 1,
        }
    }
    (end + 1, None)
}

/// How far a report indents the pattern.
const INDENTATION: usize = 4;

fn look_around(from: &str) -> (&'static str, String) {
    match from.strip_prefix("(?<") {
        // Go takes it for the name of a group.
        Some(rest) => match rest.find('>') {
            Some(end) => ("invalid named capture", from[..end + "(?<>".len()].to_owned()),
            None => ("invalid named capture", from.to_owned()),
        },
        None => ("invalid or unsupported Perl syntax", from.chars().take(3).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::{go_refusal, go_text};
    use proptest::prelude::*;

    #[test]
    fn a_pattern_that_is_none_is_refused_in_gos_words() {
        for (pattern, expected) in [
            ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
            ("a(?!x)b", "invalid or unsupported Perl syntax: `(?!`"),
            ("(?<=x)y", "invalid named capture: `(?<=x)y`"),
            ("[a", "missing closing ]: `[a`"),
            ("b[a-", "missing closing ]: `[a-`"),
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            (r"\q", r"invalid escape sequence: `\q`"),
            (r"(a)\1", r"invalid escape sequence: `\1`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("x(?iz)a", "invalid or unsupported Perl syntax: `(?iz`"),
            ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
            (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
            (r"\xZ", r"invalid escape sequence: `\xZ`"),
        ] {
            let report = regex::Regex::new(pattern).unwrap_err().to_string();
            assert_eq!(go_text(pattern, &report), format!("error parsing regexp: {expected}"), "{report}");
        }
    }

    #[test]
    fn what_go_does_not_repeat_is_refused() {
        for (pattern, expected) in [
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("(?:b)+?*", "invalid nested repetition operator: `+?*`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ] {
            assert_eq!(go_refusal(pattern), Some(format!("error parsing regexp: {expected}")));
        }
        for pattern in ["^[a-z*+]{1,63}(?i:x)*?$", "[]*+]*", r"a\**", "[[:alpha:]_]+", "a{,3}*", "x{1000}"] {
            assert_eq!(go_refusal(pattern), None, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in r"[a\[\]{}()*+?:^,0-9\\\u{e9}]{0,16}") {
            go_refusal(&pattern);
            if let Err(error) = regex::Regex::new(&pattern) {
                go_text(&pattern, &error.to_string());
            }
        }
    }
}
