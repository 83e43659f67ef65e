use std::time::Duration;

use serde_json::Map;

use crate::line::Line;
use crate::texts::Texts;
use crate::words::{Reading, Writing};
use crate::{Detail, Entry, EntryId, Stage};

/// Consecutive entries in one piece of memory with the texts that they share. They take about a quarter of the memory
/// of [`Entry`]s. Adding an entry writes to memory that the caches hold, and dropping a block frees three pieces of
/// memory.
///
/// ```text
/// an entry: stage, time, actor, subject, revision + 1 or 0, number of causes, distance to each cause, the fields of
/// its data
/// ```
#[derive(Debug)]
pub(crate) struct Block {
    first: u64,
    /// Where each entry ends.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    texts: Texts,
}

/// An entry in its block.
pub(crate) struct Kept<'b> {
    id: EntryId,
    stage: Stage,
    at: u64,
    actor: u32,
    subject: u32,
    revision: Option<i64>,
    causes: Vec<EntryId>,
    data: Reading<'b>,
    texts: &'b Texts,
}

impl Block {
    /// An empty block, whose first entry will have this number.
    pub(crate) fn starting_at(first: u64) -> Self {
        Self { first, ends: Vec::new(), bytes: Vec::new(), texts: Texts::default() }
    }

    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The number of the next entry.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.ends.len() as u64
    }

    pub(crate) fn push(&mut self, at: Duration, actor: &str, stage: Stage, detail: &Detail) -> EntryId {
        let id = self.next();
        let mut out = Writing { texts: &mut self.texts, bytes: &mut self.bytes };
        out.byte(stage as u8);
        out.natural(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        out.shared(actor);
        out.shared(&detail.subject);
        // Revisions are not negative.
        out.natural(detail.revision.map_or(0, |revision| (revision as u64).wrapping_add(1)));
        out.natural(detail.causes.len() as u64);
        detail.causes.iter().for_each(|cause| out.natural(id.wrapping_sub(cause.0)));
        detail.data.iter().for_each(|(name, said)| out.word(stage, name, said));
        self.ends.push(self.bytes.len());
        EntryId(id)
    }

    /// The entry with this number, which the block must hold.
    pub(crate) fn kept(&self, number: u64) -> Kept<'_> {
        let place = (number - self.first) as usize;
        let mut bytes = Reading { bytes: &self.bytes[self.start(place)..self.ends[place]] };
        Kept {
            id: EntryId(number),
            stage: Stage::ALL[usize::from(bytes.byte())],
            at: bytes.natural(),
            actor: bytes.shared(),
            subject: bytes.shared(),
            revision: bytes.natural().checked_sub(1).map(|revision| revision as i64),
            causes: (0..bytes.natural()).map(|_| EntryId(number.wrapping_sub(bytes.natural()))).collect(),
            data: bytes,
            texts: &self.texts,
        }
    }

    /// A copy of the entries from a number on, in memory of exactly that size.
    pub(crate) fn copied_from(&self, number: u64) -> Self {
        let place = (number - self.first) as usize;
        let start = self.start(place);
        Self {
            first: number,
            ends: self.ends[place..].iter().map(|end| end - start).collect(),
            bytes: self.bytes[start..].to_vec(),
            texts: self.texts.sealed(),
        }
    }

    /// Removes all entries, keeps the memory, and continues with the next number.
    pub(crate) fn begin_again(&mut self) {
        self.first = self.next();
        self.ends.clear();
        self.bytes.clear();
        self.texts.clear();
    }

    /// The size of its entries in bytes, with their texts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + self.texts.bytes()
    }

    /// The memory that it takes in bytes, approximately.
    pub(crate) fn held_bytes(&self) -> usize {
        self.ends.capacity() * size_of::<usize>() + self.bytes.capacity() + self.texts.held_bytes()
    }

    fn start(&self, place: usize) -> usize {
        place.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

impl Kept<'_> {
    pub(crate) fn id(&self) -> EntryId {
        self.id
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn subject(&self) -> &str {
        self.texts.text(self.subject)
    }

    pub(crate) fn entry(&self) -> Entry {
        let mut data = Map::new();
        self.data.each_word(self.stage, |name, word| drop(data.insert(name.to_owned(), word.value(self.texts))));
        Entry {
            id: self.id,
            at: Duration::from_nanos(self.at),
            actor: self.texts.text(self.actor).to_owned(),
            stage: self.stage,
            subject: self.subject().to_owned(),
            causes: self.causes.clone(),
            revision: self.revision,
            data,
        }
    }

    /// Writes the entry as a line of an events file, without the line break.
    pub(crate) fn write(&self, line: &mut Vec<u8>) {
        let mut out = Line(line);
        out.raw("{\"i\":").json(&self.id).raw(",\"t\":").json(&self.at);
        out.raw(",\"a\":").shared(self.actor, self.texts).raw(",\"s\":\"").raw(self.stage.word()).raw("\"");
        if !self.subject().is_empty() {
            out.raw(",\"k\":").shared(self.subject, self.texts);
        }
        if !self.causes.is_empty() {
            out.raw(",\"c\":").json(&self.causes);
        }
        if let Some(revision) = &self.revision {
            out.raw(",\"rv\":").json(revision);
        }
        let mut before = ",\"d\":{";
        self.data.each_word(self.stage, |name, word| {
            out.raw(before).json(name).raw(":").word(&word, self.texts);
            before = ",";
        });
        out.raw(if before == "," { "}}" } else { "}" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::FieldValue;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const AT: Duration = Duration::from_nanos(5);

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
        let revision = proptest::option::of(0..=i64::MAX);
        (stages, ".{0,9}", ".{0,9}", data, revision, proptest::collection::vec(any::<u64>(), 0..4)).prop_map(
            |(stage, actor, subject, data, revision, causes)| {
                let detail = Detail { revision, ..Detail::about(subject) }.caused_by(causes.into_iter().map(EntryId));
                let said = |detail: Detail, (name, value): (_, Value)| match value {
                    Value::Object(_) => detail.with_json(name, &value),
                    value => detail.with(name, value),
                };
                (actor, stage, data.into_iter().fold(detail, said).in_order())
            },
        )
    }

    fn entry(id: u64, (actor, stage, detail): (String, Stage, Detail)) -> Entry {
        let Detail { subject, causes, revision, data } = detail;
        let value = |said| match said {
            FieldValue::Value(value) => value,
            FieldValue::Json(text) => serde_json::from_str(&text).unwrap(),
        };
        let data = data.into_iter().map(|(name, said)| (name.to_owned(), value(said))).collect();
        Entry { id: EntryId(id), at: AT, actor, stage, subject, causes, revision, data }
    }

    #[test]
    fn a_stage_is_found_again_by_its_number() {
        assert!(Stage::ALL.iter().enumerate().all(|(place, stage)| *stage as usize == place));
        assert!(u8::try_from(Stage::ALL.len()).is_ok());
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were(all in proptest::collection::vec(details(), 1..8), from in 0_usize..8) {
            let mut block = Block::starting_at(7);
            block.push(AT, "of before", Stage::SyncStart, &Detail::about("of before"));
            block.begin_again();
            for (actor, stage, detail) in &all {
                block.push(AT, actor, *stage, detail);
            }
            prop_assert_eq!((block.first(), block.next()), (8, 8 + all.len() as u64));
            let entries: Vec<Entry> = (8..).zip(all).map(|(id, said)| entry(id, said)).collect();
            let from = 8 + from.min(entries.len() - 1) as u64;
            for block in [block.copied_from(8), block.copied_from(from), block] {
                for number in block.first()..block.next() {
                    let (kept, entry) = (block.kept(number), &entries[(number - 8) as usize]);
                    prop_assert_eq!(&kept.entry(), entry);
                    let mut line = Vec::new();
                    kept.write(&mut line);
                    prop_assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(entry).unwrap());
                }
            }
        }
    }
}
