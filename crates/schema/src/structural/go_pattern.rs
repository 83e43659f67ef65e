//! Translates Go's regular expressions to equivalent ones of the `regex` crate: that crate refuses other patterns with
//! other errors, gives `\d`, `\w` and `\b` their Unicode meaning, and has operators in classes.
//!
//! In Kubernetes: Go's `regexp/syntax` with the flags of Perl.

/// The maximum number of repetitions of a part, with nested counts multiplied.
const MOST_REPEATED: i64 = 1000;

/// The expression for the `regex` crate.
///
/// # Errors
/// Go's error after `error parsing regexp: `.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    Parser { whole: pattern, rest: pattern, out: String::with_capacity(pattern.len()), ..Parser::default() }.run()
}

const ESCAPE: &str = "invalid escape sequence";
const RANGE: &str = "invalid character class range";
const REPEAT_COUNT: &str = "invalid repeat count";

fn error<T>(what: &str, text: &str) -> Result<T, String> {
    Err(format!("{what}: `{text}`"))
}

#[derive(Default)]
struct Parser<'p> {
    whole: &'p str,
    rest: &'p str,
    out: String,
    /// For each open group, the maximum number of repetitions of its content.
    groups: Vec<i64>,
    /// The same for the content of the current group.
    repeated: i64,
    /// The same for the last part, which an operator can repeat; `None` at the beginning of an alternative.
    last: Option<i64>,
    /// The text from the last operator, if the last part is an operator.
    operator: Option<&'p str>,
}

impl<'p> Parser<'p> {
    fn run(mut self) -> Result<String, String> {
        while let Some(sign) = self.rest.chars().next() {
            let operator = self.operator.take();
            match sign {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.bump(1);
                    self.last = None;
                }
                '*' | '+' | '?' => {
                    let before = self.rest;
                    self.rest = &before[1..];
                    self.repeat(before, operator, 1)?;
                }
                '{' => self.braces(operator)?,
                '[' => self.class()?,
                '\\' => self.escape()?,
                '^' | '$' | '.' => {
                    self.bump(1);
                    self.part(1);
                }
                sign => {
                    self.rest = &self.rest[sign.len_utf8()..];
                    self.literal(sign);
                }
            }
        }
        if self.groups.is_empty() { Ok(self.out) } else { error("missing closing )", self.whole) }
    }

    /// Copies some bytes unchanged.
    fn bump(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.out.push_str(taken);
        self.rest = rest;
    }

    /// Records a part that an operator can repeat.
    fn part(&mut self, repeated: i64) {
        self.last = Some(repeated);
        self.repeated = self.repeated.max(repeated);
    }

    fn literal(&mut self, sign: char) {
        self.out.push_str(&regex::escape(sign.encode_utf8(&mut [0; 4])));
        self.part(1);
    }

    fn open(&mut self) -> Result<(), String> {
        let text = self.rest;
        if !text.starts_with("(?") {
            self.out.push('(');
            self.rest = &text[1..];
            self.enter();
            return Ok(());
        }
        let name_at = if text.starts_with("(?P<") && text.len() > 4 { 4 } else { 3 };
        if name_at == 4 || text.starts_with("(?<") && text.len() > 3 {
            let Some(end) = text.find('>') else { return error("invalid named capture", text) };
            let name = &text[name_at.min(end)..end];
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return error("invalid named capture", &text[..=end]);
            }
            // Go allows two groups with the same name, which does not affect matching.
            self.out.push('(');
            self.rest = &text[end + 1..];
            self.enter();
            return Ok(());
        }
        self.flags(text)
    }

    fn enter(&mut self) {
        self.groups.push(self.repeated);
        (self.repeated, self.last) = (1, None);
    }

    /// `(?i)`, `(?i-s:`.
    fn flags(&mut self, text: &'p str) -> Result<(), String> {
        let (mut is_negative, mut has_flag, mut end) = (false, false, text.len());
        for (at, sign) in text.char_indices().skip(2) {
            end = at + sign.len_utf8();
            match sign {
                'i' | 'm' | 's' | 'U' => has_flag = true,
                '-' if !is_negative => (is_negative, has_flag) = (true, false),
                ':' | ')' if !is_negative || has_flag => {
                    // For Go, an empty list of flags is a group; the `regex` crate refuses it.
                    if &text[..end] != "(?)" {
                        self.out.push_str(&text[..end]);
                    }
                    self.rest = &text[end..];
                    if sign == ':' {
                        self.enter();
                    }
                    return Ok(());
                }
                _ => break,
            }
        }
        error("invalid or unsupported Perl syntax", &text[..end])
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(around) = self.groups.pop() else { return error("unexpected )", self.whole) };
        self.bump(1);
        let inner = self.repeated;
        self.repeated = around;
        self.part(inner.max(1));
        Ok(())
    }

    /// Ends an operator that begins at `before`, and repeats the last part at most `count` times.
    fn repeat(&mut self, before: &'p str, operator: Option<&'p str>, count: i64) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
        }
        let taken = |from: &'p str, rest: &str| &from[..from.len() - rest.len()];
        if let Some(from) = operator {
            return error("invalid nested repetition operator", taken(from, self.rest));
        }
        let text = taken(before, self.rest);
        let Some(last) = self.last else { return error("missing argument to repetition operator", text) };
        let repeated = last.saturating_mul(count.max(1));
        if repeated > MOST_REPEATED {
            return error(REPEAT_COUNT, text);
        }
        self.out.push_str(text);
        self.operator = Some(before);
        self.part(repeated);
        Ok(())
    }

    /// `{2}`, `{2,}`, `{2,3}`; anything else in braces is literal.
    fn braces(&mut self, operator: Option<&'p str>) -> Result<(), String> {
        let before = self.rest;
        let Some((least, most, rest)) = counts(before) else {
            self.rest = &before[1..];
            self.literal('{');
            return Ok(());
        };
        let is_wrong = least > MOST_REPEATED || most.is_some_and(|most| most > MOST_REPEATED || least > most);
        if is_wrong {
            return error(REPEAT_COUNT, &before[..before.len() - rest.len()]);
        }
        self.rest = rest;
        self.repeat(before, operator, most.unwrap_or(least))
    }

    fn escape(&mut self) -> Result<(), String> {
        let text = self.rest;
        let kept = match text.as_bytes().get(1) {
            Some(b'A') => Some(r"\A"),
            Some(b'z') => Some(r"\z"),
            Some(b'b') => Some(r"(?-u:\b)"),
            Some(b'B') => Some(r"\B"),
            _ => None,
        };
        if let Some(kept) = kept {
            self.out.push_str(kept);
            self.rest = &text[2..];
        } else if let Some(quoted) = text.strip_prefix(r"\Q") {
            let (quoted, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            self.rest = rest;
            quoted.chars().for_each(|sign| self.literal(sign));
            return Ok(());
        } else if let Some((class, rest)) = named_class(text)? {
            self.out.push_str(&format!("[{class}]"));
            self.rest = rest;
        } else {
            let (sign, rest) = escaped(text)?;
            self.rest = rest;
            self.literal(sign);
            return Ok(());
        }
        self.part(1);
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        let mut text = &whole[1..];
        self.out.push('[');
        if let Some(rest) = text.strip_prefix('^') {
            self.out.push('^');
            text = rest;
        }
        let mut is_first = true;
        while is_first || !text.starts_with(']') {
            is_first = false;
            if let Some((class, rest)) = posix_class(text)? {
                self.out.push_str(class);
                text = rest;
                continue;
            }
            if let Some((class, rest)) = named_class(text)? {
                self.out.push_str(&class);
                text = rest;
                continue;
            }
            let range = text;
            let low;
            (low, text) = sign_of_class(text, whole)?;
            let mut high = low;
            if text.starts_with('-') && text.len() > 1 && !text.starts_with("-]") {
                (high, text) = sign_of_class(&text[1..], whole)?;
                if high < low {
                    return error(RANGE, &range[..range.len() - text.len()]);
                }
            }
            self.out.push_str(&format!("\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high)));
        }
        self.out.push(']');
        self.rest = &text[1..];
        self.part(1);
        Ok(())
    }
}

/// The counts of a repetition and the text after it; without a limit, the maximum is `None`. Numbers that are too large
/// for Go are too large here, too.
fn counts(text: &str) -> Option<(i64, Option<i64>, &str)> {
    let (least, rest) = count(text.strip_prefix('{')?)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((least, Some(least), rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((least, None, rest));
    }
    let (most, rest) = count(rest)?;
    Some((least, Some(most), rest.strip_prefix('}')?))
}

fn count(text: &str) -> Option<(i64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    let has_zeros = digits.len() > 1 && digits.starts_with('0');
    (!digits.is_empty() && !has_zeros).then(|| (digits.parse().unwrap_or(i64::MAX), rest))
}

/// One character of a class.
fn sign_of_class<'p>(text: &'p str, whole: &str) -> Result<(char, &'p str), String> {
    match text.chars().next() {
        None => error("missing closing ]", whole),
        Some('\\') => escaped(text),
        Some(sign) => Ok((sign, &text[sign.len_utf8()..])),
    }
}

/// `[:alpha:]`
fn posix_class(text: &str) -> Result<Option<(&str, &str)>, String> {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "word", "xdigit",
    ];
    let Some(end) = text.strip_prefix("[:").and_then(|rest| rest.find(":]")) else { return Ok(None) };
    let (class, rest) = text.split_at(end + 4);
    let name = class[2..end + 2].trim_start_matches('^');
    if NAMES.contains(&name) { Ok(Some((class, rest))) } else { error(RANGE, class) }
}

/// The translation of `\d`, `\pL` and others in a class; `\d`, `\s` and `\w` are ASCII in Go.
fn named_class(text: &str) -> Result<Option<(String, &str)>, String> {
    let plain = match text.as_bytes() {
        [b'\\', b'd', ..] => "0-9",
        [b'\\', b'D', ..] => "[^0-9]",
        [b'\\', b's', ..] => r"\t\n\x0C\r\x20",
        [b'\\', b'S', ..] => r"[^\t\n\x0C\r\x20]",
        [b'\\', b'w', ..] => "0-9A-Za-z_",
        [b'\\', b'W', ..] => "[^0-9A-Za-z_]",
        [b'\\', b'p' | b'P', ..] => return unicode_class(text).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((plain.to_owned(), &text[2..])))
}

fn unicode_class(text: &str) -> Result<(String, &str), String> {
    let (name, end) = if text[2..].starts_with('{') {
        let Some(end) = text.find('}') else { return error(RANGE, text) };
        (&text[3..end], end + 1)
    } else {
        let end = 2 + text[2..].chars().next().map_or(0, char::len_utf8);
        (&text[2..end], end)
    };
    let (is_negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    let letter = if is_negated == text.starts_with(r"\P") { "p" } else { "P" };
    let class = format!("\\{letter}{{{name}}}");
    let is_known = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && regex_syntax::Parser::new().parse(&class).is_ok();
    if is_known { Ok((class, &text[end..])) } else { error(RANGE, &text[..end]) }
}

/// The character of an escape, and the text after it.
fn escaped(text: &str) -> Result<(char, &str), String> {
    let mut signs = text[1..].char_indices().map(|(at, sign)| (at + 1 + sign.len_utf8(), sign));
    let Some((mut end, sign)) = signs.next() else { return Err("trailing backslash at end of expression: ``".into()) };
    let plain = match sign {
        'a' => Some('\u{7}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        sign if sign.is_ascii() && !sign.is_ascii_alphanumeric() => Some(sign),
        _ => None,
    };
    if let Some(plain) = plain {
        return Ok((plain, &text[end..]));
    }
    let is_octal = |sign: char| sign.is_digit(8);
    let begins_octal = sign == '0' || is_octal(sign) && text[end..].starts_with(is_octal);
    if begins_octal {
        let digits: usize = 1 + text[end..].chars().take(2).take_while(|sign| is_octal(*sign)).count();
        let number = u32::from_str_radix(&text[1..1 + digits], 8).unwrap_or(0);
        return Ok((char::from_u32(number).unwrap_or('\0'), &text[1 + digits..]));
    }
    if sign == 'x' {
        let mut number = 0_u32;
        let mut digits = 0;
        let mut has_brace = false;
        for (next, sign) in signs {
            end = next;
            if digits == 0 && !has_brace && sign == '{' {
                has_brace = true;
                continue;
            }
            if has_brace && sign == '}' && digits > 0 {
                match char::from_u32(number) {
                    Some(sign) => return Ok((sign, &text[end..])),
                    None => break,
                }
            }
            let Some(digit) = sign.to_digit(16) else { break };
            number = number * 16 + digit;
            digits += 1;
            if !has_brace && digits == 2 {
                return Ok((char::from_u32(number).unwrap_or('\0'), &text[end..]));
            }
            if number > 0x10_ffff {
                break;
            }
        }
    }
    error(ESCAPE, &text[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Regex::new(&translated(pattern).unwrap()).unwrap().is_match(text)
    }

    #[test]
    fn patterns_that_go_refuses_are_refused_in_its_words() {
        for (pattern, expected) in [
            ("[", "missing closing ]: `[`"),
            ("[^]", "missing closing ]: `[^]`"),
            ("(?!x)", "invalid or unsupported Perl syntax: `(?!`"),
            (r"\d+(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?x) a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?#c)", "invalid or unsupported Perl syntax: `(?#`"),
            ("a{2000}", "invalid repeat count: `{2000}`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("(a{100}){100}", "invalid repeat count: `{100}`"),
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a|*", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("x{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("(?P<n", "invalid named capture: `(?P<n`"),
            (r"\8", r"invalid escape sequence: `\8`"),
            (r"\h", r"invalid escape sequence: `\h`"),
            (r"\u0041", r"invalid escape sequence: `\u`"),
            (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
            ("\\", "trailing backslash at end of expression: ``"),
            ("[b-a]", "invalid character class range: `b-a`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            (r"\pX", r"invalid character class range: `\pX`"),
        ] {
            assert_eq!(translated(pattern), Err(expected.to_owned()), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_go_accepts_have_the_same_meaning() {
        for (pattern, text, expected) in [
            (r"^\d$", "\u{663}", false),
            (r"^\d+$", "12", true),
            (r"^[\w-]+$", "a-1", true),
            (r"^\w$", "\u{e9}", false),
            (r"^[a&&b]$", "&", true),
            (r"^[[a]$", "[", true),
            (r"^[]a]$", "]", true),
            (r"\Qa.b\E", "a.b", true),
            (r"\Qa.b\E", "axb", false),
            (r"^a{,2}$", "a{,2}", true),
            (r"^(?P<n>a)(?P<n>b)$", "ab", true),
            (r"^\pL\p{^Lu}$", "ab", true),
            (r"^(?i)A(?-i:b)$", "ab", true),
            (r"^\x41\x{42}\103$", "ABC", true),
            (r"^[[:alpha:]]$", "x", true),
            (r"^(|a){2}$", "a", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn accepted_patterns_compile(pattern in r"[\[\]{}()a-c0-3?*+|\\dwxpQEPL^$,.:<>=!-]{0,14}") {
            if let Ok(translated) = translated(&pattern) {
                prop_assert!(Regex::new(&translated).is_ok(), "{} {}", pattern, translated);
            }
        }
    }
}
