/// A hash of a text that is the same in every run and on every machine: FNV-1a of 64 bits.
///
/// ```
/// assert_eq!(coracle_ambient::stable_hash(""), 0xcbf2_9ce4_8422_2325);
/// assert_eq!(coracle_ambient::stable_hash("a"), 0xaf63_dc4c_8601_ec8c);
/// ```
pub fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
