use coracle_meta::channels::LONGEST;

/// The first 16 bits of a control frame: the control bit and the version.
const CONTROL: u16 = 0x8003;
/// The flag of the last frame of a sender on a stream.
const FIN: u8 = 1;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;

/// The code of `RST_STREAM` for a refused stream.
pub(super) const REFUSED_STREAM: u32 = 3;

/// A frame of SPDY/3.1, of the types that a remote command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A new stream; the header block is compressed.
    SynStream { stream: u32, is_last: bool, headers: Vec<u8> },
    /// A stream was accepted.
    SynReply { stream: u32, headers: Vec<u8> },
    /// A stream was aborted.
    RstStream { stream: u32, code: u32 },
    /// A ping, or its reply.
    Ping { id: u32 },
    /// The sender accepts no more streams.
    GoAway { last: u32 },
    /// More headers of a stream; they are only decompressed.
    Headers { headers: Vec<u8> },
    /// Bytes of a stream.
    Data { stream: u32, is_last: bool, data: Vec<u8> },
    /// A frame whose content is ignored, such as settings.
    Other,
}

impl Frame {
    /// Appends the encoded frame.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let ids = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        let flag = |is_last: bool| if is_last { FIN } else { 0 };
        match self {
            Self::SynStream { stream, is_last, headers } => {
                let priority_and_slot = [0, 0];
                control(out, SYN_STREAM, flag(*is_last), &[&ids(&[*stream, 0]), &priority_and_slot, headers]);
            }
            Self::SynReply { stream, headers } => control(out, SYN_REPLY, 0, &[&ids(&[*stream]), headers]),
            Self::RstStream { stream, code } => control(out, RST_STREAM, 0, &[&ids(&[*stream, *code])]),
            Self::Ping { id } => control(out, PING, 0, &[&ids(&[*id])]),
            Self::GoAway { last } => control(out, GOAWAY, 0, &[&ids(&[*last, 0])]),
            Self::Headers { headers } => control(out, HEADERS, 0, &[&ids(&[0]), headers]),
            Self::Data { stream, is_last, data } => {
                out.extend(stream.to_be_bytes());
                length(out, flag(*is_last), data.len());
                out.extend(data);
            }
            Self::Other => {}
        }
    }
}

fn control(out: &mut Vec<u8>, sort: u16, flags: u8, parts: &[&[u8]]) {
    out.extend(CONTROL.to_be_bytes());
    out.extend(sort.to_be_bytes());
    length(out, flags, parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| out.extend(*part));
}

fn length(out: &mut Vec<u8>, flags: u8, length: usize) {
    let [_, length @ ..] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    out.push(flags);
    out.extend(length);
}

/// Splits received bytes into frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    /// Adds received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete frame.
    ///
    /// # Errors
    /// If the frame is longer than [`LONGEST`], has another version, or is truncated.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, String> {
        let Some((head, rest)) = self.bytes.split_at_checked(8) else { return Ok(None) };
        let length = number(&[0, head[5], head[6], head[7]]) as usize;
        if length > LONGEST {
            return Err(format!("a frame of {length} bytes is too long"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = read(head, &rest[..length]);
        self.bytes.drain(..8 + length);
        frame.map(Some)
    }
}

/// A big-endian number of four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn read(head: &[u8], content: &[u8]) -> Result<Frame, String> {
    let is_last = head[4] & FIN != 0;
    if head[0] & 0x80 == 0 {
        return Ok(Frame::Data { stream: number(&head[..4]), is_last, data: content.to_vec() });
    }
    let (version, sort) = (number(&head[..2]), number(&head[2..4]));
    if version != u32::from(CONTROL) {
        return Err(format!("a frame of version {} is not understood", version & 0x7fff));
    }
    let part = |from: usize, to: usize| {
        content.get(from..to).ok_or_else(|| format!("a frame of sort {sort} is cut short at {} bytes", content.len()))
    };
    let id = |at: usize| part(at, at + 4).map(|bytes| number(bytes) & 0x7fff_ffff);
    let rest = |from: usize| part(from, content.len()).map(<[u8]>::to_vec);
    Ok(match u16::try_from(sort).unwrap_or_default() {
        SYN_STREAM => Frame::SynStream { stream: id(0)?, is_last, headers: rest(10)? },
        SYN_REPLY => Frame::SynReply { stream: id(0)?, headers: rest(4)? },
        RST_STREAM => Frame::RstStream { stream: id(0)?, code: part(4, 8).map(number)? },
        PING => Frame::Ping { id: part(0, 4).map(number)? },
        GOAWAY => Frame::GoAway { last: id(0)? },
        HEADERS => Frame::Headers { headers: rest(4)? },
        _ => Frame::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let bytes = || vec(any::<u8>(), 0..40);
        let stream = || 0_u32..1 << 31;
        prop_oneof![
            (stream(), any::<bool>(), bytes()).prop_map(|(stream, is_last, headers)| Frame::SynStream {
                stream,
                is_last,
                headers
            }),
            (stream(), bytes()).prop_map(|(stream, headers)| Frame::SynReply { stream, headers }),
            (stream(), any::<u32>()).prop_map(|(stream, code)| Frame::RstStream { stream, code }),
            any::<u32>().prop_map(|id| Frame::Ping { id }),
            stream().prop_map(|last| Frame::GoAway { last }),
            bytes().prop_map(|headers| Frame::Headers { headers }),
            (stream(), any::<bool>(), bytes()).prop_map(|(stream, is_last, data)| Frame::Data {
                stream,
                is_last,
                data
            }),
        ]
    }

    proptest! {
        #[test]
        fn frames_round_trip_however_the_bytes_are_split(frames in vec(frames(), 0..8), cut in 1_usize..20) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| frame.write(&mut bytes));
            let (mut reader, mut read) = (Frames::default(), Vec::new());
            for chunk in bytes.chunks(cut) {
                reader.push(chunk);
                while let Some(frame) = reader.next_frame().unwrap() {
                    read.push(frame);
                }
            }
            prop_assert_eq!(read, frames);
        }

        #[test]
        fn any_bytes_are_a_frame_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
            let mut reader = Frames::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next_frame() {}
        }
    }

    #[test]
    fn frames_of_another_version_are_refused() {
        let refusal = |bytes: &[u8]| {
            let mut reader = Frames::default();
            reader.push(bytes);
            reader.next_frame().unwrap_err()
        };
        assert_eq!(refusal(&[0x80, 2, 0, 1, 0, 0, 0, 0]), "a frame of version 2 is not understood");
        assert_eq!(refusal(&[0x80, 3, 0, 6, 0, 0, 0, 1, 0]), "a frame of sort 6 is cut short at 1 bytes");
        assert_eq!(refusal(&[0, 0, 0, 1, 0, 255, 255, 255]), "a frame of 16777215 bytes is too long");
    }
}
