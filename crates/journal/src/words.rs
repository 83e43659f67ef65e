use serde_json::{Number, Value};

use crate::entry::FieldValue;
use crate::texts::Texts;
use crate::{Stage, json};

/// Longer texts are not shared between entries.
const LONGEST_SHARED: usize = 64;
/// The index of a field that the stage does not define; its name follows.
const UNPROMISED: u8 = 31;

/// The type of the value after the index of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    Shared = 0,
    Text = 1,
    Uuid = 2,
    Natural = 3,
    Json = 4,
    True = 5,
    False = 6,
}

impl Tag {
    const ALL: [Self; 7] = [Self::Shared, Self::Text, Self::Uuid, Self::Natural, Self::Json, Self::True, Self::False];
}

/// The value of a field, as it is stored.
pub(crate) enum Word<'b> {
    Bool(bool),
    Natural(u64),
    Uuid(&'b [u8]),
    /// A text that entries share.
    Shared(u32),
    Text(&'b str),
    Json(&'b str),
}

impl Word<'_> {
    pub(crate) fn value(&self, texts: &Texts) -> Value {
        match self {
            Self::Bool(is) => Value::Bool(*is),
            Self::Natural(number) => Value::Number(Number::from(*number)),
            Self::Uuid(bytes) => Value::String(uuid_text(bytes)),
            Self::Shared(number) => Value::String(texts.text(*number).to_owned()),
            Self::Text(text) => Value::String((*text).to_owned()),
            Self::Json(text) => json::from_slice(text.as_bytes()).unwrap_or_default(),
        }
    }
}

/// An encoder.
pub(crate) struct Writing<'b> {
    pub(crate) texts: &'b mut Texts,
    pub(crate) bytes: &'b mut Vec<u8>,
}

impl Writing<'_> {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Encodes a number with seven bits per byte, the lowest first.
    pub(crate) fn natural(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Encodes a text that entries share.
    pub(crate) fn shared(&mut self, text: &str) {
        let number = self.texts.take(text);
        self.natural(number.into());
    }

    /// Encodes a field of an entry at this stage.
    pub(crate) fn word(&mut self, stage: Stage, name: &str, said: &FieldValue) {
        let place = stage.fields().iter().position(|field| field.name() == name);
        let place = place.and_then(|place| u8::try_from(place).ok()).filter(|place| *place < UNPROMISED);
        let place = place.ok_or(name);
        let value = match said {
            FieldValue::Value(value) => value,
            FieldValue::Json(text) => {
                self.begin(place, Tag::Json);
                return self.text(text);
            }
        };
        match value {
            Value::Bool(true) => self.begin(place, Tag::True),
            Value::Bool(false) => self.begin(place, Tag::False),
            Value::Number(number) if let Some(number) = number.as_u64() => {
                self.begin(place, Tag::Natural);
                self.natural(number);
            }
            Value::String(text) if let Some(bytes) = uuid(text) => {
                self.begin(place, Tag::Uuid);
                self.bytes.extend_from_slice(&bytes);
            }
            Value::String(text) if text.len() <= LONGEST_SHARED => {
                self.begin(place, Tag::Shared);
                self.shared(text);
            }
            Value::String(text) => {
                self.begin(place, Tag::Text);
                self.text(text);
            }
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.begin(place, Tag::Json);
                self.text(&value.to_string());
            }
        }
    }

    fn begin(&mut self, place: Result<u8, &str>, tag: Tag) {
        self.byte(place.unwrap_or(UNPROMISED) << 3 | tag as u8);
        if let Err(name) = place {
            self.text(name);
        }
    }

    fn text(&mut self, text: &str) {
        self.natural(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// A decoder of encoded bytes; invalid bytes decode to empty values.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'b> {
    pub(crate) bytes: &'b [u8],
}

impl<'b> Reading<'b> {
    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes.split_off_first().copied().unwrap_or_default()
    }

    pub(crate) fn natural(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some(byte) = self.bytes.split_off_first() {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }

    pub(crate) fn shared(&mut self) -> u32 {
        u32::try_from(self.natural()).unwrap_or_default()
    }

    /// Decodes the fields of the data, which are the rest of the bytes: the name and the value of each.
    pub(crate) fn each_word(mut self, stage: Stage, mut found: impl FnMut(&'b str, Word<'b>)) {
        while !self.bytes.is_empty() {
            let first = self.byte();
            let name = match first >> 3 {
                UNPROMISED => self.text(),
                place => stage.fields()[usize::from(place)].name(),
            };
            let word = match Tag::ALL[usize::from(first & 7)] {
                Tag::True => Word::Bool(true),
                Tag::False => Word::Bool(false),
                Tag::Natural => Word::Natural(self.natural()),
                Tag::Uuid => Word::Uuid(self.bytes.split_off(..16).unwrap_or_default()),
                Tag::Shared => Word::Shared(self.shared()),
                Tag::Text => Word::Text(self.text()),
                Tag::Json => Word::Json(self.text()),
            };
            found(name, word);
        }
    }

    fn text(&mut self) -> &'b str {
        let length = usize::try_from(self.natural()).unwrap_or_default();
        str::from_utf8(self.bytes.split_off(..length).unwrap_or_default()).unwrap_or_default()
    }
}

/// The bytes of a lower-case UUID with dashes.
fn uuid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 36 {
        return None;
    }
    let (mut bytes, mut digits) = ([0; 16], 0);
    for (place, letter) in text.bytes().enumerate() {
        let digit = match letter {
            b'-' if is_dash(place) => continue,
            b'0'..=b'9' => letter - b'0',
            b'a'..=b'f' => letter - b'a' + 10,
            _ => return None,
        };
        let byte: &mut u8 = bytes.get_mut(digits / 2)?;
        *byte = *byte << 4 | digit;
        digits += 1;
    }
    (digits == 32).then_some(bytes)
}

pub(crate) fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
        if is_dash(text.len()) {
            text.push('-');
        }
        text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
    }
    text
}

/// Whether a UUID has a dash at this position.
fn is_dash(place: usize) -> bool {
    matches!(place, 8 | 13 | 18 | 23)
}
