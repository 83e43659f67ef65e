use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Texts that entries share, each stored once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    all: String,
    slots: Vec<Slot>,
    /// The number of each text; empty if no text can be added.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    end: u32,
    /// Whether JSON needs no escapes for it.
    is_plain: bool,
}

impl Texts {
    /// The number of a text, which is added if it is new.
    pub(crate) fn take(&mut self, text: &str) -> u32 {
        let Self { all, slots, numbers, hasher } = self;
        let is_it = |number: &u32| all[range(slots, *number)] == *text;
        let hash_of = |number: &u32| hasher.hash_one(&all[range(slots, *number)]);
        match numbers.entry(hasher.hash_one(text), is_it, hash_of) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let number = u32::try_from(slots.len()).expect("memory holds fewer texts than there are numbers");
                new.insert(number);
                all.push_str(text);
                let is_plain = text.bytes().all(|letter| letter >= b' ' && letter != b'"' && letter != b'\\');
                let end = u32::try_from(all.len())
                    .expect("a block has a thousand entries, and texts that are shared are short");
                slots.push(Slot { end, is_plain });
                number
            }
        }
    }

    pub(crate) fn text(&self, number: u32) -> &str {
        &self.all[range(&self.slots, number)]
    }

    /// Whether JSON needs no escapes for the text.
    pub(crate) fn is_plain(&self, number: u32) -> bool {
        self.slots[number as usize].is_plain
    }

    /// A copy to which no text can be added.
    pub(crate) fn sealed(&self) -> Self {
        Self { all: self.all.clone(), slots: self.slots.clone(), ..Self::default() }
    }

    /// Removes all texts, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.slots.clear();
        self.numbers.clear();
    }

    /// Their size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all.len()
    }

    /// The memory that they take in bytes, approximately.
    pub(crate) fn held_bytes(&self) -> usize {
        self.all.capacity() + self.slots.capacity() * size_of::<Slot>() + self.numbers.allocation_size()
    }
}

fn range(slots: &[Slot], number: u32) -> Range<usize> {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| slots[before].end);
    start as usize..slots[number].end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_also_the_empty_one_and_after_all_was_forgotten() {
        let mut texts = Texts::default();
        let numbers = ["a", "", "\"", "a", ""].map(|text| texts.take(text));
        assert_eq!(numbers, [0, 1, 2, 0, 1]);
        assert_eq!([0, 1, 2].map(|number| texts.text(number)), ["a", "", "\""]);
        assert_eq!([0, 1, 2].map(|number| texts.is_plain(number)), [true, true, false]);
        assert_eq!(texts.sealed().text(2), "\"");
        texts.clear();
        assert_eq!((texts.take("b"), texts.text(0)), (0, "b"));
    }
}
