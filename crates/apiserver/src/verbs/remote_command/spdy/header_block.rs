use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

/// The initial dictionary of the compression, from the appendix of SPDY/3.
const DICTIONARY: &[u8] = include_bytes!("dictionary.bin");
/// The maximum length of a decompressed block, in bytes.
const LONGEST: usize = 1 << 16;

/// Decompresses header blocks: one zlib stream over all blocks of a connection.
#[derive(Debug)]
pub(super) struct Unpacker {
    zlib: Decompress,
}

impl Unpacker {
    pub(super) fn new() -> Self {
        Self { zlib: Decompress::new(true) }
    }

    /// The lower-case names and the values of a block.
    ///
    /// # Errors
    /// If the block is not valid in SPDY/3, or longer than 64 KiB.
    pub(super) fn unpack(&mut self, block: &[u8]) -> Result<Vec<(String, String)>, String> {
        read(&self.inflate(block)?).ok_or_else(|| "a header block is cut short".to_owned())
    }

    fn inflate(&mut self, mut block: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::with_capacity(1024);
        loop {
            let before = self.zlib.total_in();
            let step = self.zlib.decompress_vec(block, &mut out, FlushDecompress::Sync);
            let read = usize::try_from(self.zlib.total_in() - before).unwrap_or(block.len());
            block = &block[read.min(block.len())..];
            match step {
                Err(error) if error.needs_dictionary().is_some() => {
                    self.zlib.set_dictionary(DICTIONARY).map_err(|error| error.to_string())?;
                }
                Err(error) => return Err(format!("a header block cannot be unpacked: {error}")),
                Ok(_) if out.len() > LONGEST => return Err("a header block is too long".to_owned()),
                Ok(_) if out.len() == out.capacity() => out.reserve(out.capacity()),
                Ok(_) => return Ok(out),
            }
        }
    }
}

/// The names and values of a decompressed block; `None` if it is truncated.
fn read(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let count = number(&mut bytes)?;
    let mut headers = Vec::new();
    for _ in 0..count {
        headers.push((text(&mut bytes)?.to_ascii_lowercase(), text(&mut bytes)?));
    }
    Some(headers)
}

fn number(bytes: &mut &[u8]) -> Option<usize> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = number(bytes)?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Compresses header blocks.
#[derive(Debug)]
pub(super) struct Packer {
    zlib: Compress,
}

impl Packer {
    pub(super) fn new() -> Self {
        let mut zlib = Compress::new(Compression::fast(), true);
        zlib.set_dictionary(DICTIONARY).expect("nothing was compressed yet");
        Self { zlib }
    }

    /// A block with these names and values.
    pub(super) fn pack(&mut self, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = Vec::new();
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
        plain.extend(number(headers.len()));
        for part in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend(number(part.len()));
            plain.extend(part.as_bytes());
        }
        let mut block = Vec::with_capacity(plain.len() + 64);
        let mut rest = plain.as_slice();
        loop {
            let before = self.zlib.total_in();
            let step = self.zlib.compress_vec(rest, &mut block, FlushCompress::Sync);
            let read = usize::try_from(self.zlib.total_in() - before).unwrap_or(rest.len());
            rest = &rest[read..];
            match step {
                Ok(_) if block.len() == block.capacity() => block.reserve(block.capacity()),
                _ => return block,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_round_trip(blocks in vec(vec(("[a-z-]{1,12}", ".{0,300}"), 0..12), 1..5)) {
            let (mut packer, mut unpacker) = (Packer::new(), Unpacker::new());
            for block in &blocks {
                let headers: Vec<_> = block.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                prop_assert_eq!(&unpacker.unpack(&packer.pack(&headers)).unwrap(), block);
            }
        }

        #[test]
        fn any_bytes_are_a_block_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
            let _ = Unpacker::new().unpack(&bytes);
            let _ = read(&bytes);
        }
    }

    #[test]
    fn a_small_block_that_would_fill_the_memory_is_refused() {
        let mut packer = Packer::new();
        let long = "a".repeat(10 << 20);
        let block = packer.pack(&[("name", &long)]);
        assert!(block.len() < 1 << 20);
        assert_eq!(Unpacker::new().unpack(&block).unwrap_err(), "a header block is too long");
    }
}
