//! The subset of DER that keys need.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const SEQUENCE: u8 = 0x30;
/// `[0]` of an `ECPrivateKey`: the curve.
pub(super) const PARAMETERS: u8 = 0xa0;

/// `rsaEncryption` without parameters.
pub(super) const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// `id-ecPublicKey`; the curve follows.
pub(super) const EC: [u8; 9] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// The tag of the first element of DER, its content, and what follows.
pub(super) fn split(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(first), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length =
                digits.iter().try_fold(0_usize, |sum, digit| sum.checked_mul(256)?.checked_add((*digit).into()));
            (length?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// The tags and contents of consecutive DER elements, up to the first invalid one.
pub(super) fn elements(mut der: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (tag, content, rest) = split(der)?;
        der = rest;
        Some((tag, content))
    })
}

/// An element of DER.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|digit| **digit == 0).count()..];
    let head = match content.len() {
        short @ 0..0x80 => vec![tag, short as u8],
        _ => [&[tag, 0x80 | digits.len() as u8], digits].concat(),
    };
    [&head, content].concat()
}

/// A positive number.
pub(super) fn number(digits: &[u8]) -> Vec<u8> {
    let digits = significant(digits);
    match digits.first() {
        Some(0..0x80) => element(INTEGER, digits),
        _ => element(INTEGER, &[&[0], digits].concat()),
    }
}

/// A number without leading zeros.
pub(super) fn significant(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|digit| **digit == 0).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_element_is_read_as_it_was_written(content in proptest::collection::vec(any::<u8>(), 0..70_000)) {
            let written = element(OCTET_STRING, &content);
            prop_assert_eq!(split(&written), Some((OCTET_STRING, content.as_slice(), [].as_slice())));
        }

        #[test]
        fn no_der_panics(der in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = elements(&der).count();
        }
    }
}
