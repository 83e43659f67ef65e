use serde::Serialize;
use serde_json::Value;

/// The characters of generated names. In Kubernetes: `k8s.io/apimachinery/pkg/util/rand`.
const SIGNS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

const OFFSET_32: u32 = 0x811c_9dc5;
const PRIME_32: u32 = 0x0100_0193;

/// The value of `pod-template-hash` and of the hash in a DaemonSet's revision: FNV-1a over the template, then over the
/// number of collisions so far.
///
/// Unlike Kubernetes: the template is hashed as JSON, because Kubernetes' value depends on how Go prints its structs.
/// What clients may rely on holds: the same template and count give the same value, and the value has only the
/// characters `456789bcdf`.
pub(crate) fn template_hash(template: &impl Serialize, collision_count: Option<i64>) -> String {
    let text = serde_json::to_vec(template).expect("a template is made of strings, numbers, lists and maps");
    let mut hash = fnv1a(OFFSET_32, &text);
    if let Some(count) = collision_count {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        hash = fnv1a(hash, &bytes);
    }
    safe_encode(&hash.to_string())
}

/// The hash in the name of a StatefulSet's revision: FNV-1, and not 1a, over the revision's data, then over the
/// number of collisions. In Kubernetes: `history.HashControllerRevision`.
pub(crate) fn revision_hash(data: &Value, collision_count: Option<i32>) -> String {
    let count = collision_count.map(|count| count.to_string()).unwrap_or_default();
    let text = [data.to_string(), count].concat();
    safe_encode(&fnv1(OFFSET_32, text.as_bytes()).to_string())
}

fn fnv1(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, byte| hash.wrapping_mul(PRIME_32) ^ u32::from(*byte))
}

fn fnv1a(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME_32))
}

/// Maps each character to one that is allowed in names and cannot form words. In Kubernetes: `rand.SafeEncodeString`.
fn safe_encode(text: &str) -> String {
    text.bytes().map(|byte| char::from(SIGNS[usize::from(byte) % SIGNS.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hash_is_stable_and_has_only_the_signs_that_digits_map_to() {
        let template = json!({"metadata": {"labels": {"app": "web"}}});
        let hash = template_hash(&template, None);
        assert_eq!(hash, template_hash(&template, None));
        assert!(hash.chars().all(|sign| "456789bcdf".contains(sign)), "{hash}");
        assert_ne!(hash, template_hash(&template, Some(0)));
        assert_ne!(template_hash(&template, Some(1)), template_hash(&template, Some(0)));
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(OFFSET_32, b"a"), 0xe40c_292c);
        assert_eq!(fnv1(OFFSET_32, b"a"), 0x050c_5d7e);
    }
}
