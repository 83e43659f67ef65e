//! `printf`. In Go: `fmt.Sprintf`.

use coracle_meta::go_quote;

use crate::number::{real, whole};
use crate::show::shown;
use crate::value::Value;

/// The maximum width of a formatted value.
const WIDEST: usize = 10_000;

/// Replaces the verbs of a format with arguments.
pub(crate) fn printf(format: &str, arguments: &[Value<'_>]) -> String {
    let (mut into, mut signs, mut at) = (String::new(), format.chars().peekable(), 0);
    while let Some(sign) = signs.next() {
        if sign != '%' {
            into.push(sign);
            continue;
        }
        let mut verb = Verb::default();
        while let Some(flag) = signs.next_if(|sign| matches!(sign, '-' | '+' | '#' | '0' | ' ')) {
            verb.flags.push(flag);
        }
        let mut digits = |verb_part: &mut usize| {
            while let Some(digit) = signs.next_if(char::is_ascii_digit) {
                *verb_part = (*verb_part * 10 + digit.to_digit(10).unwrap_or_default() as usize).min(WIDEST);
            }
            signs.next_if_eq(&'.').is_some()
        };
        if digits(&mut verb.width) {
            let mut precision = 0;
            digits(&mut precision);
            verb.precision = Some(precision);
        }
        match signs.next() {
            None => into.push_str("%!(NOVERB)"),
            Some('%') => into.push('%'),
            Some(letter) => match arguments.get(at) {
                None => into.push_str(&format!("%!{letter}(MISSING)")),
                Some(value) => {
                    at += 1;
                    into.push_str(&verb.fill(letter, value));
                }
            },
        }
    }
    if at < arguments.len() {
        let extra: Vec<String> =
            arguments[at..].iter().map(|value| format!("{}={}", value.type_name(), shown(value))).collect();
        into.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    into
}

#[derive(Default)]
struct Verb {
    flags: String,
    width: usize,
    precision: Option<usize>,
}

impl Verb {
    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    fn fill(&self, letter: char, value: &Value<'_>) -> String {
        let is_number = matches!(value, Value::Int(_) | Value::Float(_));
        let text = match (letter, value) {
            ('v', Value::Text(text)) if self.has('#') => go_quote(text),
            ('v', _) => self.signed(value, shown(value)),
            (
                's',
                Value::Text(_) | Value::Number(_) | Value::Array(_) | Value::List(_) | Value::Object(_) | Value::Map(_),
            ) => {
                let text = shown(value);
                self.precision.map_or(text.clone(), |most| text.chars().take(most).collect())
            }
            ('q', Value::Text(_) | Value::Number(_)) => go_quote(&shown(value)),
            ('d', Value::Int(_)) => self.signed(value, shown(value)),
            ('t', Value::Bool(_)) => shown(value),
            ('c', Value::Int(code)) => {
                u32::try_from(*code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}').to_string()
            }
            ('x', Value::Int(value)) => hex(*value),
            ('X', Value::Int(value)) => hex(*value).to_uppercase(),
            ('x', Value::Text(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            ('o', Value::Int(value)) => format!("{}{:o}", if *value < 0 { "-" } else { "" }, value.unsigned_abs()),
            ('b', Value::Int(value)) => format!("{}{:b}", if *value < 0 { "-" } else { "" }, value.unsigned_abs()),
            ('f' | 'F', Value::Float(float)) => self.signed(value, format!("{float:.*}", self.precision.unwrap_or(6))),
            ('g' | 'G', Value::Float(_)) => self.signed(value, shown(value)),
            ('e', Value::Float(float)) => {
                let text = format!("{float:.*e}", self.precision.unwrap_or(6));
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let exponent: i32 = exponent.parse().unwrap_or_default();
                self.signed(value, format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()))
            }
            ('T', _) => value.type_name().to_owned(),
            _ => format!("%!{letter}({}={})", value.type_name(), shown(value)),
        };
        self.padded(text, is_number)
    }

    fn signed(&self, value: &Value<'_>, text: String) -> String {
        let is_positive = match value {
            Value::Int(_) => whole(value) >= 0,
            Value::Float(_) => real(value) >= 0.0,
            _ => false,
        };
        match (is_positive, self.has('+'), self.has(' ')) {
            (true, true, _) => format!("+{text}"),
            (true, _, true) => format!(" {text}"),
            _ => text,
        }
    }

    fn padded(&self, text: String, is_number: bool) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if self.has('-') {
            return text + &" ".repeat(missing);
        }
        if !(self.has('0') && is_number) {
            return " ".repeat(missing) + &text;
        }
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) => (&text[..1], digits),
            None => ("", text.as_str()),
        };
        format!("{sign}{}{digits}", "0".repeat(missing))
    }
}

fn hex(value: i64) -> String {
    format!("{}{:x}", if value < 0 { "-" } else { "" }, value.unsigned_abs())
}
