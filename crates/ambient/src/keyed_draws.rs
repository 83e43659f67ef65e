use std::collections::BTreeMap;

use crate::mix::mix;

/// The maximum number of keys that one stream counts: about 40 MB.
const MAX_KEYS: usize = 1 << 20;

/// 128 bits, as two halves.
pub(crate) type Bits = [u64; 2];

/// Counts the draws of each key, so that a draw follows from its key and its number, and not from draws of other keys.
///
/// The memory is bounded: a stream that reaches the maximum number of keys forgets their counts, and starts the next
/// generation. The generation is a part of each draw, so that no draw repeats.
#[derive(Debug)]
pub(crate) struct KeyedDraws {
    streams: BTreeMap<u64, Counts>,
    max_keys: usize,
}

#[derive(Debug, Default)]
struct Counts {
    of_keys: BTreeMap<Bits, u64>,
    generation: u64,
}

impl KeyedDraws {
    /// The bits of the next draw of `key` in the stream with this seed.
    pub(crate) fn next(&mut self, stream: u64, key: &[&str]) -> Bits {
        let key = hash(stream, key);
        let counts = self.streams.entry(stream).or_default();
        if counts.of_keys.len() >= self.max_keys && !counts.of_keys.contains_key(&key) {
            *counts = Counts { generation: counts.generation + 1, ..Counts::default() };
        }
        let count = counts.of_keys.entry(key).or_default();
        *count += 1;
        extend(extend(key, *count), counts.generation)
    }
}

impl Default for KeyedDraws {
    fn default() -> Self {
        Self { streams: BTreeMap::new(), max_keys: MAX_KEYS }
    }
}

/// The length of each part is hashed, too, so that `["ab", "c"]` and `["a", "bc"]` differ.
fn hash(stream: u64, key: &[&str]) -> Bits {
    key.iter().fold([stream, !stream], |hash, part| {
        let hash = extend(hash, part.len() as u64);
        part.as_bytes().chunks(8).fold(hash, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            extend(hash, u64::from_le_bytes(word))
        })
    })
}

/// Each half is a hash of its own: two keys would have to be equal in both.
fn extend([one, other]: Bits, word: u64) -> Bits {
    [mix(one ^ word), mix(other.rotate_left(23).wrapping_add(word))]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_draw_follows_from_its_key_and_its_number() {
        let (mut quiet, mut busy) = (KeyedDraws::default(), KeyedDraws::default());
        let first = quiet.next(1, &["uid", "web"]);
        for other in [&["uid", "db"][..], &["uid"], &["uidweb"], &["ui", "dweb"], &["uid", "web", ""], &[]] {
            assert_ne!(busy.next(1, other), first, "{other:?}");
        }
        assert_ne!(busy.next(2, &["uid", "web"]), first);
        assert_eq!(busy.next(1, &["uid", "web"]), first);
        assert_ne!(busy.next(1, &["uid", "web"]), first);
    }

    #[test]
    fn the_keys_of_a_stream_are_bounded_and_no_draw_repeats() {
        let mut draws = KeyedDraws { max_keys: 16, ..KeyedDraws::default() };
        let mut seen = BTreeSet::new();
        for round in 0..1_000_u32 {
            assert!(seen.insert(draws.next(1, &[&format!("pod-{}", round % 37)])), "draw {round} repeats");
            assert!(draws.streams[&1].of_keys.len() <= 16);
        }
    }
}
