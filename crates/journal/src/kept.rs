use std::time::Duration;

use serde_json::{Map, Number, Value};

use crate::names::{Name, Names};
use crate::{Entry, EntryId, Stage};

/// Texts longer than this are not looked up among those that others use.
const LONGEST_NAME: usize = 64;
/// Stands for no revision.
const NO_REVISION: i64 = i64::MIN;

/// An entry as it is kept in memory, about a third of what it is as an [`Entry`]: texts that recur are numbers, and the names
/// of its data are places in the list of its stage.
#[derive(Debug)]
pub(crate) struct Kept {
    at: u64,
    revision: i64,
    causes: Box<[EntryId]>,
    data: Box<[u8]>,
    actor: Name,
    subject: Name,
    stage: Stage,
}

impl Kept {
    pub(crate) fn of(entry: Entry, names: &mut Names) -> Self {
        let Entry { id: _, at, actor, stage, subject, causes, revision, data } = entry;
        Self {
            at: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            revision: revision.unwrap_or(NO_REVISION),
            causes: causes.into(),
            data: Writing { names, bytes: Vec::new() }.data(stage, &data).into(),
            actor: names.take(&actor),
            subject: names.take(&subject),
            stage,
        }
    }

    pub(crate) fn entry(&self, id: EntryId, names: &Names) -> Entry {
        Entry {
            id,
            at: Duration::from_nanos(self.at),
            actor: names.text(self.actor).to_owned(),
            stage: self.stage,
            subject: names.text(self.subject).to_owned(),
            causes: self.causes.to_vec(),
            revision: (self.revision != NO_REVISION).then_some(self.revision),
            data: Reading { names, bytes: &self.data }.data(self.stage),
        }
    }

    /// Gives back the names that it uses.
    pub(crate) fn forget(&self, names: &mut Names) {
        let mut used = vec![self.actor, self.subject];
        Reading { names, bytes: &self.data }.each(|_, _, name| used.extend(name));
        used.into_iter().for_each(|name| names.release(name));
    }

    /// How many bytes it takes, about.
    pub(crate) fn held_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.causes) + self.data.len()
    }
}

/// What follows the place of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    Name = 0,
    Text = 1,
    Uuid = 2,
    Natural = 3,
    Json = 4,
    True = 5,
    False = 6,
}

impl Tag {
    const ALL: [Self; 7] = [Self::Name, Self::Text, Self::Uuid, Self::Natural, Self::Json, Self::True, Self::False];
}

/// The place of a name that the stage does not promise; the name follows.
const UNPROMISED: u8 = 31;

struct Writing<'n> {
    names: &'n mut Names,
    bytes: Vec<u8>,
}

impl Writing<'_> {
    fn data(mut self, stage: Stage, data: &Map<String, Value>) -> Vec<u8> {
        for (name, value) in data {
            let place = stage.fields().iter().position(|field| field.name() == name);
            let place = place.and_then(|place| u8::try_from(place).ok()).filter(|place| *place < UNPROMISED);
            let tag = self.tag(value);
            self.bytes.push(place.unwrap_or(UNPROMISED) << 3 | tag as u8);
            if place.is_none() {
                self.text(name);
            }
            self.value(tag, value);
        }
        self.bytes
    }

    fn tag(&self, value: &Value) -> Tag {
        match value {
            Value::Bool(true) => Tag::True,
            Value::Bool(false) => Tag::False,
            Value::Number(number) if number.is_u64() => Tag::Natural,
            Value::String(text) if uuid(text).is_some() => Tag::Uuid,
            Value::String(text) if text.len() <= LONGEST_NAME => Tag::Name,
            Value::String(_) => Tag::Text,
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => Tag::Json,
        }
    }

    fn value(&mut self, tag: Tag, value: &Value) {
        let text = value.as_str().unwrap_or_default();
        match tag {
            Tag::True | Tag::False => {}
            Tag::Natural => self.natural(value.as_u64().unwrap_or_default()),
            Tag::Uuid => self.bytes.extend(uuid(text).unwrap_or_default()),
            Tag::Name => {
                let name = self.names.take(text);
                self.natural(u64::from(name.0));
            }
            Tag::Text => self.text(text),
            Tag::Json => self.text(&value.to_string()),
        }
    }

    fn text(&mut self, text: &str) {
        self.natural(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    /// Seven bits a byte, the lowest first.
    fn natural(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

struct Reading<'n> {
    names: &'n Names,
    bytes: &'n [u8],
}

impl Reading<'_> {
    fn data(self, stage: Stage) -> Map<String, Value> {
        let mut data = Map::new();
        self.each(|place, value, _| {
            let name = match place {
                Ok(place) => stage.fields()[usize::from(place)].name().to_owned(),
                Err(name) => name,
            };
            data.insert(name, value);
        });
        data
    }

    /// Every word: its place or its name, what it holds, and the name that it uses.
    fn each(mut self, mut found: impl FnMut(Result<u8, String>, Value, Option<Name>)) {
        while let Some(first) = self.bytes.split_off_first() {
            let place = if first >> 3 == UNPROMISED { Err(self.text()) } else { Ok(first >> 3) };
            let mut used = None;
            let value = match Tag::ALL[usize::from(first & 7)] {
                Tag::True => Value::Bool(true),
                Tag::False => Value::Bool(false),
                Tag::Natural => Value::Number(Number::from(self.natural())),
                Tag::Uuid => Value::String(uuid_text(self.bytes.split_off(..16).unwrap_or_default())),
                Tag::Name => {
                    let name = Name(u32::try_from(self.natural()).unwrap_or_default());
                    used = Some(name);
                    Value::String(self.names.text(name).to_owned())
                }
                Tag::Text => Value::String(self.text()),
                Tag::Json => serde_json::from_str(&self.text()).unwrap_or_default(),
            };
            found(place, value, used);
        }
    }

    fn text(&mut self) -> String {
        let length = usize::try_from(self.natural()).unwrap_or_default();
        String::from_utf8_lossy(self.bytes.split_off(..length).unwrap_or_default()).into_owned()
    }

    fn natural(&mut self) -> u64 {
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
}

/// The bytes of a uuid in small letters, with its dashes.
fn uuid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 36 || !text.is_ascii() {
        return None;
    }
    let digits: String = text.split('-').collect();
    let mut bytes = [0; 16];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    (uuid_text(&bytes) == text).then_some(bytes)
}

fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            ".{0,80}".prop_map(Value::from),
            Just(json!({"a": [1, null, "x"]})),
            Just(json!("0b9d2f60-5a0c-4d39-9f5e-0123456789ab")),
            Just(json!("0B9D2F60-5A0C-4D39-9F5E-0123456789AB")),
            Just(json!("0b9d2f605a0c-4d39-9f5e-01234-56789ab")),
            Just(Value::Null),
        ]
    }

    fn entries() -> impl Strategy<Value = Entry> {
        let names = prop_oneof![Just("verb".to_owned()), Just("type".to_owned()), Just("audit".to_owned()), ".{0,9}"];
        let data = proptest::collection::vec((names, values()), 0..6);
        let stages = (0..Stage::ALL.len()).prop_map(|index| Stage::ALL[index]);
        let revision = proptest::option::of(0..i64::MAX);
        (stages, ".{0,9}", ".{0,9}", data, revision, proptest::collection::vec(any::<u64>(), 0..4)).prop_map(
            |(stage, actor, subject, data, revision, causes)| Entry {
                id: EntryId(7),
                at: Duration::from_nanos(5),
                actor,
                stage,
                subject,
                causes: causes.into_iter().map(EntryId).collect(),
                revision,
                data: data.into_iter().collect(),
            },
        )
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were_and_leave_no_name_behind(all in proptest::collection::vec(entries(), 1..8)) {
            let mut names = Names::default();
            let kept: Vec<Kept> = all.iter().map(|entry| Kept::of(entry.clone(), &mut names)).collect();
            for (entry, kept) in all.iter().zip(&kept) {
                prop_assert_eq!(&kept.entry(EntryId(7), &names), entry);
            }
            kept.iter().for_each(|kept| kept.forget(&mut names));
            prop_assert_eq!(names.take("new").0 as usize, names.take("new").0 as usize);
            prop_assert!(names.is_all_free_but(1), "a name is used by nobody and still kept");
        }
    }
}
