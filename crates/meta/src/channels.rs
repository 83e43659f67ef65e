//! Several streams as one: pieces, each with the channel that it belongs to.
//!
//! ```text
//! channel (1 byte), length (4 bytes, the most significant first), data
//! ```
//! What an API server and a node send each other of a remote command. In Kubernetes: `remotecommand` of apimachinery, whose
//! channels have the same numbers.

/// The media type of pieces, for clients that send all pieces of a command at once, over a connection that is not
/// upgraded.
pub const MEDIA_TYPE: &str = "application/vnd.coracle.pieces";

/// The standard input.
pub const STDIN: u8 = 0;
/// The standard output.
pub const STDOUT: u8 = 1;
/// The standard error.
pub const STDERR: u8 = 2;
/// How it ended: a `Status`.
pub const ERROR: u8 = 3;
/// The size of the terminal.
pub const RESIZE: u8 = 4;
/// That a stream is at its end; the data is its channel.
pub const CLOSE: u8 = 255;

/// The maximum length of a piece.
pub const LONGEST: usize = 1024 * 1024;

/// A piece of one channel.
pub fn piece(channel: u8, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut piece = Vec::with_capacity(5 + data.len());
    piece.push(channel);
    piece.extend_from_slice(&length.to_be_bytes());
    piece.extend_from_slice(data);
    piece
}

/// Bytes as they come, taken apart into pieces.
#[derive(Debug, Default)]
pub struct Pieces {
    bytes: Vec<u8>,
}

impl Pieces {
    /// More bytes have come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole piece.
    ///
    /// # Errors
    /// If it is longer than [`LONGEST`].
    pub fn next_piece(&mut self) -> Result<Option<(u8, Vec<u8>)>, String> {
        let Some((head, rest)) = self.bytes.split_at_checked(5) else { return Ok(None) };
        let length = head[1..].iter().fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
        if length > LONGEST {
            return Err(format!("a piece of {length} bytes is too long"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let piece = (head[0], rest[..length].to_vec());
        self.bytes.drain(..5 + length);
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn pieces_round_trip_however_the_bytes_are_split(
            pieces in proptest::collection::vec((0_u8..5, proptest::collection::vec(0_u8.., 0..40)), 0..8),
            cut in 1_usize..20,
        ) {
            let bytes: Vec<u8> = pieces.iter().flat_map(|(channel, data)| piece(*channel, data)).collect();
            let (mut reader, mut read) = (Pieces::default(), Vec::new());
            for chunk in bytes.chunks(cut) {
                reader.push(chunk);
                while let Some(piece) = reader.next_piece().unwrap() {
                    read.push(piece);
                }
            }
            proptest::prop_assert_eq!(read, pieces);
        }
    }

    #[test]
    fn a_piece_that_is_too_long_is_refused() {
        let mut reader = Pieces::default();
        reader.push(&[1, 255, 255, 255, 255]);
        assert!(reader.next_piece().is_err());
    }
}
