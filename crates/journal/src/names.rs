use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts that many entries share, each kept once and as long as an entry uses it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: BTreeMap<Arc<str>, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    text: Arc<str>,
    uses: usize,
}

/// The number of a text in its [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) u32);

impl Names {
    /// The text's number, which is used once more.
    pub(crate) fn take(&mut self, text: &str) -> Name {
        if let Some(number) = self.numbers.get(text) {
            self.slots[*number as usize].uses += 1;
            return Name(*number);
        }
        let text: Arc<str> = text.into();
        let slot = Slot { text: Arc::clone(&text), uses: 1 };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("a ring holds fewer entries than there are numbers")
            }
        };
        self.numbers.insert(text, number);
        Name(number)
    }

    /// The text is used once less, and forgotten when it is not used.
    pub(crate) fn release(&mut self, name: Name) {
        let slot = &mut self.slots[name.0 as usize];
        slot.uses -= 1;
        if slot.uses == 0 {
            self.numbers.remove(&slot.text);
            slot.text = Arc::default();
            self.free.push(name.0);
        }
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        &self.slots[name.0 as usize].text
    }

    #[cfg(test)]
    pub(crate) fn is_all_free_but(&self, used: usize) -> bool {
        self.numbers.len() == used && self.slots.len() - self.free.len() == used
    }

    /// How many bytes all of them take, about.
    pub(crate) fn held_bytes(&self) -> usize {
        let slots = self.slots.capacity() * size_of::<Slot>();
        // An `Arc` has two counts beside its text; a tree's nodes are two thirds full.
        let texts = self.numbers.keys().map(|text| 16 + text.len() + (size_of::<Arc<str>>() + 4) * 3 / 2);
        slots + texts.sum::<usize>()
    }
}
