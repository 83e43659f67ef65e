//! The wire format: tags, varints, lengths.

/// Why bytes cannot be decoded.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum WireError {
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: illegal tag {0}")]
    Tag(u64),
    #[error("proto: illegal wireType {0}")]
    WireType(u8),
    #[error("proto: wrong wireType for field {0}")]
    WrongType(u32),
    #[error("proto: messages nest too deep")]
    Depth,
    #[error("proto: invalid UTF-8")]
    Utf8,
    #[error("{0}")]
    Content(String),
}

/// A field of a message: the value still in its wire form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

/// Decodes the fields of a message one after another, without allocation.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field's tag and value; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, WireError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let tag = u32::try_from(key >> 3).ok().filter(|tag| *tag > 0).ok_or(WireError::Tag(key >> 3))?;
        let value = match (key & 7) as u8 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.array::<4>()?;
                Wire::Fixed32
            }
            other => return Err(WireError::WireType(other)),
        };
        Ok(Some((tag, value)))
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Overflow)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl<'a> Wire<'a> {
    pub(crate) fn varint(self, tag: u32) -> Result<u64, WireError> {
        match self {
            Wire::Varint(value) => Ok(value),
            _ => Err(WireError::WrongType(tag)),
        }
    }

    pub(crate) fn bytes(self, tag: u32) -> Result<&'a [u8], WireError> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            _ => Err(WireError::WrongType(tag)),
        }
    }

    pub(crate) fn text(self, tag: u32) -> Result<&'a str, WireError> {
        std::str::from_utf8(self.bytes(tag)?).map_err(|_| WireError::Utf8)
    }
}

/// Writes a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a field that is a varint; negative numbers take ten bytes, as in proto2.
pub(crate) fn put_int(out: &mut Vec<u8>, tag: u32, value: i64) {
    put_varint(out, u64::from(tag) << 3);
    put_varint(out, value as u64);
}

/// Writes a field of eight bytes.
pub(crate) fn put_double(out: &mut Vec<u8>, tag: u32, value: f64) {
    put_varint(out, u64::from(tag) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a field of bytes: a string, a message.
pub(crate) fn put_bytes(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    put_length(out, tag, bytes.len());
    out.extend_from_slice(bytes);
}

/// Writes the beginning of a field of this number of bytes.
pub(crate) fn put_length(out: &mut Vec<u8>, tag: u32, length: usize) {
    put_varint(out, u64::from(tag) << 3 | 2);
    put_varint(out, length as u64);
}

/// The length of a field with a tag below 16 and this number of bytes.
pub(crate) fn field_length(bytes: usize) -> usize {
    1 + varint_length(bytes as u64) + bytes
}

/// Writes a field that is a message, whose content `write` appends.
pub(crate) fn put_message(out: &mut Vec<u8>, tag: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let length_at = begin_message(out, tag);
    write(out);
    end_message(out, length_at);
}

/// Begins a field that is a message; returns the position of its length, for [`end_message`].
pub(crate) fn begin_message(out: &mut Vec<u8>, tag: u32) -> usize {
    put_varint(out, u64::from(tag) << 3 | 2);
    out.push(0);
    out.len() - 1
}

/// Sets the length of a message, whose content stands behind it. Most messages are short, and their length has one
/// byte. The content of longer ones is moved.
pub(crate) fn end_message(out: &mut Vec<u8>, length_at: usize) {
    let start = length_at + 1;
    let mut length = (out.len() - start) as u64;
    let more = varint_length(length) - 1;
    if more > 0 {
        let end = out.len();
        out.resize(end + more, 0);
        out.copy_within(start..end, start + more);
    }
    for byte in &mut out[length_at..length_at + more] {
        *byte = length as u8 | 0x80;
        length >>= 7;
    }
    out[length_at + more] = length as u8;
}

/// The length of a varint in bytes.
pub(crate) fn varint_length(value: u64) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_length_of_a_message_is_written_before_it() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
            let content: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let (mut known, mut later) = (vec![7], vec![7]);
            put_bytes(&mut known, 3, &content);
            put_message(&mut later, 3, |out| out.extend_from_slice(&content));
            assert!(known == later, "{length}");
        }
    }

    proptest! {
        #[test]
        fn encoded_values_are_decoded_again(tag in 1_u32..1 << 29, number in any::<i64>(), bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut out = Vec::new();
            put_int(&mut out, tag, number);
            put_bytes(&mut out, tag, &bytes);
            put_double(&mut out, tag, 1.5);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.next(), Ok(Some((tag, Wire::Varint(number as u64)))));
            prop_assert_eq!(reader.next(), Ok(Some((tag, Wire::Bytes(&bytes)))));
            prop_assert_eq!(reader.next(), Ok(Some((tag, Wire::Fixed64(1.5_f64.to_bits())))));
            prop_assert_eq!(reader.next(), Ok(None));
        }
    }
}
