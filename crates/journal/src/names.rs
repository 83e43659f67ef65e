use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Texts by number, each stored once and for as long as it is used.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The number of each text. Every event that is sent is looked up, so this is a hash table and not a tree.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    text: Box<str>,
    uses: u32,
}

/// The number of a text in its [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(pub(crate) u32);

impl Names {
    /// The number of a text; adds one use.
    pub(crate) fn take(&mut self, text: &str) -> Name {
        let Self { numbers, hasher, slots, free } = self;
        let is_it = |number: &u32| *slots[*number as usize].text == *text;
        let hash_of = |number: &u32| hasher.hash_one(&*slots[*number as usize].text);
        match numbers.entry(hasher.hash_one(text), is_it, hash_of) {
            Entry::Occupied(known) => {
                let number = *known.get();
                slots[number as usize].uses += 1;
                Name(number)
            }
            Entry::Vacant(new) => {
                let next = u32::try_from(slots.len()).expect("memory holds fewer texts than there are numbers");
                let number = free.pop().unwrap_or(next);
                new.insert(number);
                let slot = Slot { text: text.into(), uses: 1 };
                match slots.get_mut(number as usize) {
                    Some(free) => *free = slot,
                    None => slots.push(slot),
                }
                Name(number)
            }
        }
    }

    /// The number of a text, if it is used.
    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        let is_it = |number: &u32| *self.slots[*number as usize].text == *text;
        self.numbers.find(self.hasher.hash_one(text), is_it).map(|number| Name(*number))
    }

    /// Removes one use; an unused text is dropped.
    pub(crate) fn release(&mut self, name: Name) {
        let slot = &mut self.slots[name.0 as usize];
        slot.uses -= 1;
        if slot.uses == 0 {
            let text = std::mem::take(&mut slot.text);
            if let Ok(known) = self.numbers.find_entry(self.hasher.hash_one(&*text), |number| *number == name.0) {
                known.remove();
            }
            self.free.push(name.0);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_all_free_but(&self, used: usize) -> bool {
        self.numbers.len() == used && self.slots.len() - self.free.len() == used
    }
}
