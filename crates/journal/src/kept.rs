use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::entry::Said;
use crate::names::{Name, Names};
use crate::pending::Pending;
use crate::{Detail, Entry, EntryId, Stage};

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
    /// `scratch` is memory to write in, of which nothing is kept.
    pub(crate) fn of(pending: Pending, names: &mut Names, scratch: &mut Vec<u8>) -> Self {
        let Pending { at, actor, stage, detail } = pending;
        let Detail { subject, mut causes, revision, mut data } = detail;
        causes.sort_unstable();
        causes.dedup();
        // As a map of JSON orders its names.
        data.sort_unstable_by_key(|(name, _)| *name);
        Self {
            at: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            revision: revision.unwrap_or(NO_REVISION),
            // Boxes of their own length: a vector would be cut to it, which costs a second allocation.
            causes: Box::from(&*causes),
            data: Box::from(Writing { names, bytes: scratch }.data(stage, &data)),
            actor: names.take(&actor),
            subject: names.take(&subject),
            stage,
        }
    }

    pub(crate) fn subject<'n>(&self, names: &'n Names) -> &'n str {
        names.text(self.subject)
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage
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

    /// Writes the entry as a line of an events file, without the end of the line. What is JSON already is copied and not read.
    pub(crate) fn write(&self, id: EntryId, names: &Names, line: &mut Vec<u8>) {
        let mut out = Line(line);
        out.raw("{\"i\":").number(id.0).raw(",\"t\":").number(self.at);
        out.raw(",\"a\":").name(self.actor, names).raw(",\"s\":\"").raw(self.stage.word()).raw("\"");
        if !names.text(self.subject).is_empty() {
            out.raw(",\"k\":").name(self.subject, names);
        }
        for (place, cause) in self.causes.iter().enumerate() {
            out.raw(if place == 0 { ",\"c\":[" } else { "," }).number(cause.0);
        }
        if !self.causes.is_empty() {
            out.raw("]");
        }
        if self.revision != NO_REVISION {
            out.raw(",\"rv\":").json(&self.revision);
        }
        if !self.data.is_empty() {
            out.raw(",\"d\":");
            let mut before = "{";
            Reading { names, bytes: &self.data }.each(|place, word| {
                out.raw(before).text(name_of(self.stage, place)).raw(":").word(&word, names);
                before = ",";
            });
            out.raw("}");
        }
        out.raw("}");
    }

    /// Gives back the names that it uses.
    pub(crate) fn forget(&self, names: &mut Names) {
        let mut used = vec![self.actor, self.subject];
        Reading { names, bytes: &self.data }.each(|_, word| {
            if let Word::Name(name) = word {
                used.push(name);
            }
        });
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
    bytes: &'n mut Vec<u8>,
}

impl<'n> Writing<'n> {
    fn data(mut self, stage: Stage, data: &[(&str, Said)]) -> &'n [u8] {
        self.bytes.clear();
        for (name, said) in data {
            let place = stage.fields().iter().position(|field| field.name() == *name);
            let place = place.and_then(|place| u8::try_from(place).ok()).filter(|place| *place < UNPROMISED);
            let place = place.ok_or(*name);
            let value = match said {
                Said::Value(value) => value,
                Said::Json(text) => {
                    self.begin(place, Tag::Json);
                    self.text(text);
                    continue;
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
                Value::String(text) if text.len() <= LONGEST_NAME => {
                    self.begin(place, Tag::Name);
                    let name = self.names.take(text);
                    self.natural(u64::from(name.0));
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
        self.bytes
    }

    fn begin(&mut self, place: Result<u8, &str>, tag: Tag) {
        self.bytes.push(place.unwrap_or(UNPROMISED) << 3 | tag as u8);
        if let Err(name) = place {
            self.text(name);
        }
    }

    fn text(&mut self, text: &str) {
        self.natural(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
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

/// What a word of the data holds, as it is kept.
enum Word<'n> {
    Bool(bool),
    Natural(u64),
    Uuid(&'n [u8]),
    Name(Name),
    Text(&'n str),
    Json(&'n str),
}

impl Word<'_> {
    fn value(&self, names: &Names) -> Value {
        match self {
            Self::Bool(is) => Value::Bool(*is),
            Self::Natural(number) => Value::Number(Number::from(*number)),
            Self::Uuid(bytes) => Value::String(uuid_text(bytes)),
            Self::Name(name) => Value::String(names.text(*name).to_owned()),
            Self::Text(text) => Value::String((*text).to_owned()),
            Self::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        }
    }
}

/// The name of a word: its place in the list of its stage, or itself.
fn name_of(stage: Stage, place: Result<u8, &str>) -> &str {
    place.map_or_else(|name| name, |place| stage.fields()[usize::from(place)].name())
}

/// JSON that is being written.
struct Line<'l>(&'l mut Vec<u8>);

impl Line<'_> {
    fn raw(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.json(&number)
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.json(text)
    }

    fn name(&mut self, name: Name, names: &Names) -> &mut Self {
        match names.is_plain(name) {
            true => self.raw("\"").raw(names.text(name)).raw("\""),
            false => self.text(names.text(name)),
        }
    }

    fn json(&mut self, what: &(impl Serialize + ?Sized)) -> &mut Self {
        serde_json::to_writer(&mut *self.0, what).expect("memory takes what is written");
        self
    }

    fn word(&mut self, word: &Word<'_>, names: &Names) -> &mut Self {
        match word {
            Word::Bool(is) => self.raw(if *is { "true" } else { "false" }),
            Word::Natural(number) => self.number(*number),
            Word::Uuid(bytes) => self.raw("\"").raw(&uuid_text(bytes)).raw("\""),
            Word::Name(name) => self.name(*name, names),
            Word::Text(text) => self.text(text),
            Word::Json(json) => self.raw(json),
        }
    }
}

struct Reading<'n> {
    names: &'n Names,
    bytes: &'n [u8],
}

impl<'n> Reading<'n> {
    fn data(self, stage: Stage) -> Map<String, Value> {
        let (names, mut data) = (self.names, Map::new());
        self.each(|place, word| drop(data.insert(name_of(stage, place).to_owned(), word.value(names))));
        data
    }

    /// Every word: its place or its name, and what it holds.
    fn each(mut self, mut found: impl FnMut(Result<u8, &'n str>, Word<'n>)) {
        while let Some(first) = self.bytes.split_off_first() {
            let place = if first >> 3 == UNPROMISED { Err(self.text()) } else { Ok(first >> 3) };
            let word = match Tag::ALL[usize::from(first & 7)] {
                Tag::True => Word::Bool(true),
                Tag::False => Word::Bool(false),
                Tag::Natural => Word::Natural(self.natural()),
                Tag::Uuid => Word::Uuid(self.bytes.split_off(..16).unwrap_or_default()),
                Tag::Name => Word::Name(Name(u32::try_from(self.natural()).unwrap_or_default())),
                Tag::Text => Word::Text(self.text()),
                Tag::Json => Word::Json(self.text()),
            };
            found(place, word);
        }
    }

    fn text(&mut self) -> &'n str {
        let length = usize::try_from(self.natural()).unwrap_or_default();
        str::from_utf8(self.bytes.split_off(..length).unwrap_or_default()).unwrap_or_default()
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

fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
        if is_dash(text.len()) {
            text.push('-');
        }
        text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
    }
    text
}

/// Whether a uuid has a dash here.
fn is_dash(place: usize) -> bool {
    matches!(place, 8 | 13 | 18 | 23)
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

    fn details() -> impl Strategy<Value = (String, Stage, Detail)> {
        let names = prop_oneof![Just("verb"), Just("type"), Just("audit"), Just(""), Just("of nobody"), Just("\"")];
        let data = proptest::collection::vec((names, values()), 0..6);
        let stages = (0..Stage::ALL.len()).prop_map(|index| Stage::ALL[index]);
        let revision = proptest::option::of(0..i64::MAX);
        (stages, ".{0,9}", ".{0,9}", data, revision, proptest::collection::vec(any::<u64>(), 0..4)).prop_map(
            |(stage, actor, subject, data, revision, causes)| {
                let detail = Detail { revision, ..Detail::about(subject) }.caused_by(causes.into_iter().map(EntryId));
                let said = |detail: Detail, (name, value): (_, Value)| match value {
                    Value::Object(_) => detail.with_json(name, &value),
                    value => detail.with(name, value),
                };
                (actor, stage, data.into_iter().fold(detail, said))
            },
        )
    }

    fn entry((actor, stage, detail): (String, Stage, Detail)) -> Entry {
        let Detail { subject, mut causes, revision, data } = detail;
        causes.sort_unstable();
        causes.dedup();
        let value = |said| match said {
            Said::Value(value) => value,
            Said::Json(text) => serde_json::from_str(&text).unwrap(),
        };
        let data = data.into_iter().map(|(name, said)| (name.to_owned(), value(said))).collect();
        Entry { id: EntryId(7), at: Duration::from_nanos(5), actor, stage, subject, causes, revision, data }
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were_and_leave_no_name_behind(all in proptest::collection::vec(details(), 1..8)) {
            let (mut names, mut scratch) = (Names::default(), Vec::new());
            let keep = |(actor, stage, detail): &(String, Stage, Detail)| {
                let (at, actor) = (Duration::from_nanos(5), actor.as_str().into());
                Kept::of(Pending { at, actor, stage: *stage, detail: detail.clone() }, &mut names, &mut scratch)
            };
            let kept: Vec<Kept> = all.iter().map(keep).collect();
            for (entry, kept) in all.into_iter().map(entry).zip(&kept) {
                prop_assert_eq!(&kept.entry(EntryId(7), &names), &entry);
                let mut line = Vec::new();
                kept.write(EntryId(7), &names, &mut line);
                prop_assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(&entry).unwrap());
            }
            kept.iter().for_each(|kept| kept.forget(&mut names));
            prop_assert_eq!(names.take("new").0 as usize, names.take("new").0 as usize);
            prop_assert!(names.is_all_free_but(1), "a name is used by nobody and still kept");
        }
    }
}
