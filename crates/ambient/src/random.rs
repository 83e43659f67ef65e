use std::sync::Arc;

use parking_lot::Mutex;

use crate::keyed_draws::KeyedDraws;
use crate::mix::mix;
use crate::stable_hash;

/// The characters of generated names. In Kubernetes: `k8s.io/apimachinery/pkg/util/rand`.
const NAME_SIGNS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The increment of a stream. In SplitMix64: the golden gamma.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers that depends only on a seed and on the names of its splits.
///
/// Streams of different names are independent: one component's use does not change another's numbers. Clones share
/// one stream. Not for secrets that outlive a test: the libraries for keys and tokens have their own randomness.
///
/// Several users of one stream take from [`Random::keyed`], so that one does not change the numbers of another.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    increment: u64,
    state: Arc<Mutex<u64>>,
    /// The counts of keyed draws, shared with all splits; `None` if the seed is the operating system's.
    keyed: Option<Arc<Mutex<KeyedDraws>>>,
}

impl Random {
    /// A stream with a seed from the operating system.
    pub fn from_os() -> Self {
        use std::hash::{BuildHasher, Hasher};
        #[expect(clippy::disallowed_types, reason = "the one place that takes a seed from the system")]
        let hasher = std::collections::hash_map::RandomState::new();
        Self::new(hasher.build_hasher().finish(), INCREMENT, None)
    }

    /// The stream with this seed.
    pub fn from_seed(seed: u64) -> Self {
        Self::new(seed, INCREMENT, Some(Arc::default()))
    }

    fn new(seed: u64, increment: u64, keyed: Option<Arc<Mutex<KeyedDraws>>>) -> Self {
        Self { seed, increment, state: Arc::new(Mutex::new(seed)), keyed }
    }

    /// The stream of the component `name`; it depends on the seed and the path of names, not on previous use.
    pub fn split(&self, name: &str) -> Self {
        Self::new(mix(self.seed ^ mix(stable_hash(name))), INCREMENT, self.keyed.clone())
    }

    /// The stream of one draw, which follows from this stream's seed, the key, and the number of earlier draws with
    /// exactly this key. Draws with other keys, and the numbers that this stream gave, do not change it.
    ///
    /// The key says what the draw is for: who draws, the purpose, the kind, the namespace, the name. Splits of the same
    /// name share the counts, so that a component that restarts does not repeat its draws. One stream counts at most a
    /// million keys; with the next key it forgets the counts, and later draws differ from all before. Then, and only
    /// then, draws also depend on how many keys there were.
    ///
    /// A stream with a seed from the operating system returns itself: what a server draws in real time cannot be
    /// repeated, and a server must not keep a count of each name for as long as it runs.
    ///
    /// ```
    /// use coracle_ambient::Random;
    ///
    /// let (one, other) = (Random::from_seed(7), Random::from_seed(7));
    /// other.keyed(&["uid", "pods", "db"]);
    /// let first = one.keyed(&["uid", "pods", "web"]).uuid();
    /// assert_eq!(other.keyed(&["uid", "pods", "web"]).uuid(), first);
    /// assert_ne!(other.keyed(&["uid", "pods", "web"]).uuid(), first);
    /// ```
    #[must_use]
    pub fn keyed(&self, key: &[&str]) -> Self {
        let Some(keyed) = &self.keyed else { return self.clone() };
        let [seed, increment] = keyed.lock().next(self.seed, key);
        // An odd increment visits all states. With it a draw has 127 bits of its own, so that uuids do not repeat.
        Self::new(seed, increment | 1, Some(Arc::clone(keyed)))
    }

    /// Whether the numbers follow from a seed that the caller gave. If not, secrets come from the operating system: 64 bits
    /// are too few for them.
    pub fn is_seeded(&self) -> bool {
        self.keyed.is_some()
    }

    /// The seed of this stream, for a report on how to repeat a run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next 64 bits.
    pub fn bits(&self) -> u64 {
        let mut state = self.state.lock();
        *state = state.wrapping_add(self.increment);
        mix(*state)
    }

    /// A number from 0 to `bound - 1`; 0 if `bound` is 0.
    pub fn below(&self, bound: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(product >> 64).expect("the upper half of a 128-bit product fits 64 bits")
    }

    /// A number in `[0, 1)`.
    pub fn fraction(&self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `length` characters, as the API server appends to `generateName`.
    pub fn name_suffix(&self, length: usize) -> String {
        (0..length).map(|_| char::from(NAME_SIGNS[self.below(27) as usize])).collect()
    }

    /// The text of a version 4 UUID: `9f0c5a3e-…`.
    pub fn uuid(&self) -> String {
        let bits = u128::from(self.bits()) << 64 | u128::from(self.bits());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_stream_does_not_depend_on_what_its_parent_drew() {
        let quiet = Random::from_seed(7);
        let busy = Random::from_seed(7);
        busy.bits();
        assert_eq!(quiet.split("kubelet").bits(), busy.split("kubelet").bits());
        assert_ne!(quiet.split("kubelet").bits(), quiet.split("scheduler").bits());
    }

    #[test]
    fn a_uuid_is_of_version_4_and_follows_from_the_seed() {
        assert_eq!(Random::from_seed(7).uuid(), "63cbe1e4-5932-4dd7-844c-3cd7f43c661c");
    }

    #[test]
    fn a_keyed_draw_does_not_depend_on_other_draws_and_splits_share_the_counts() {
        let (quiet, busy) = (Random::from_seed(7), Random::from_seed(7));
        busy.bits();
        busy.keyed(&["b"]).bits();
        assert_eq!(quiet.split("kubelet").keyed(&["a"]).uuid(), busy.split("kubelet").keyed(&["a"]).uuid());
        let (again, second) = (quiet.split("kubelet").keyed(&["a"]).uuid(), busy.split("kubelet").keyed(&["a"]).uuid());
        assert_eq!(again, second, "the second draw of each");
        assert_ne!(again, Random::from_seed(7).split("kubelet").keyed(&["a"]).uuid(), "the first draw repeats");
    }

    #[test]
    fn keyed_uuids_do_not_repeat() {
        let (random, mut seen) = (Random::from_seed(0), std::collections::BTreeSet::new());
        for name in ["", "a", "b", "web-0", "web-1"] {
            assert!((0..2_000).all(|_| seen.insert(random.keyed(&["uid", name]).uuid())), "{name}");
        }
    }

    #[test]
    fn a_stream_of_the_system_counts_no_keys() {
        let random = Random::from_os();
        let (first, second) = (random.keyed(&["a"]).bits(), random.split("b").keyed(&["a"]).bits());
        assert!(random.keyed.is_none() && random.split("b").keyed.is_none());
        assert!(first != second && first != random.keyed(&["a"]).bits());
    }

    #[test]
    fn below_stays_below() {
        let random = Random::from_seed(1);
        assert!((0..1000).all(|_| random.below(27) < 27));
        assert_eq!(random.below(0), 0);
    }
}
