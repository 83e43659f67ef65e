use std::sync::Arc;

use parking_lot::Mutex;

use crate::stable_hash;

/// The characters of generated names. In Kubernetes: `k8s.io/apimachinery/pkg/util/rand`.
const NAME_SIGNS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A stream of random numbers that depends only on a seed and on the names of its splits.
///
/// Streams of different names are independent: one component's use does not change another's numbers. Clones share
/// one stream. Not for secrets that outlive a test: the libraries for keys and tokens have their own randomness.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    state: Arc<Mutex<u64>>,
}

impl Random {
    /// A stream with a seed from the operating system.
    pub fn from_os() -> Self {
        use std::hash::{BuildHasher, Hasher};
        #[expect(clippy::disallowed_types, reason = "the one place that takes a seed from the system")]
        let hasher = std::collections::hash_map::RandomState::new();
        Self::from_seed(hasher.build_hasher().finish())
    }

    /// The stream with this seed.
    pub fn from_seed(seed: u64) -> Self {
        Self { seed, state: Arc::new(Mutex::new(seed)) }
    }

    /// The stream of the component `name`; it depends on the seed and the path of names, not on previous use.
    pub fn split(&self, name: &str) -> Self {
        Self::from_seed(mix(self.seed ^ mix(stable_hash(name))))
    }

    /// The seed of this stream, for a report on how to repeat a run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next 64 bits.
    pub fn bits(&self) -> u64 {
        let mut state = self.state.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
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

/// The finalizer of SplitMix64: every input bit affects every output bit.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
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
    fn below_stays_below() {
        let random = Random::from_seed(1);
        assert!((0..1000).all(|_| random.below(27) < 27));
        assert_eq!(random.below(0), 0);
    }
}
