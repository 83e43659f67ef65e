use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::channels::{CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, piece};

use super::frame::{Frame, Frames, REFUSED_STREAM};
use super::header_block::{Packer, Unpacker};

/// The channels of the values of the header `streamType`.
const SORTS: [(&str, u8); 5] =
    [("error", ERROR), ("stdin", STDIN), ("stdout", STDOUT), ("stderr", STDERR), ("resize", RESIZE)];

/// One connection: the channel of each stream, and the pending output for the client.
#[derive(Debug)]
pub(super) struct Session {
    frames: Frames,
    unpacker: Unpacker,
    packer: Packer,
    /// The channels whose streams the client has not opened yet.
    missing: BTreeSet<u8>,
    streams: BTreeMap<u8, u32>,
    output: Vec<u8>,
    is_over: bool,
}

impl Session {
    /// A connection on which the client will open a stream for each of these channels.
    pub(super) fn new(wanted: BTreeSet<u8>) -> Self {
        Self {
            frames: Frames::default(),
            unpacker: Unpacker::new(),
            packer: Packer::new(),
            missing: wanted,
            streams: BTreeMap::new(),
            output: Vec::new(),
            is_over: false,
        }
    }

    /// Whether all streams are open.
    pub(super) fn is_open(&self) -> bool {
        self.missing.is_empty()
    }

    /// Whether the client has announced its end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes the pending output for the client.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Processes bytes of the client, and returns the pieces for the node.
    ///
    /// # Errors
    /// If they are not SPDY/3.1.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.frames.push(bytes);
        let mut pieces = Vec::new();
        while let Some(frame) = self.frames.next_frame()? {
            match frame {
                Frame::SynStream { stream, headers, .. } => self.open(stream, &headers)?,
                Frame::Headers { headers } | Frame::SynReply { headers, .. } => drop(self.unpacker.unpack(&headers)?),
                Frame::Data { stream, is_last, data } => {
                    if let Some(channel) = self.channel_of(stream).filter(|channel| matches!(*channel, STDIN | RESIZE))
                    {
                        pieces.extend((!data.is_empty()).then(|| piece(channel, &data)));
                        pieces.extend((is_last && channel == STDIN).then(|| piece(CLOSE, &[STDIN])));
                    }
                }
                Frame::RstStream { stream, .. } => {
                    pieces.extend((self.channel_of(stream) == Some(STDIN)).then(|| piece(CLOSE, &[STDIN])));
                }
                // A ping with an even number is the reply to one of this side.
                Frame::Ping { id } if id % 2 == 1 => Frame::Ping { id }.write(&mut self.output),
                Frame::GoAway { .. } => self.is_over = true,
                Frame::Ping { .. } | Frame::Other => {}
            }
        }
        Ok(pieces)
    }

    fn channel_of(&self, stream: u32) -> Option<u8> {
        self.streams.iter().find(|(_, id)| **id == stream).map(|(channel, _)| *channel)
    }

    fn open(&mut self, stream: u32, headers: &[u8]) -> Result<(), String> {
        let headers = self.unpacker.unpack(headers)?;
        let sort = headers.iter().find(|(name, _)| name == "streamtype").map(|(_, sort)| sort.as_str());
        let channel = SORTS.iter().find(|(name, _)| Some(*name) == sort).map(|(_, channel)| *channel);
        let answer = match channel.filter(|channel| self.missing.remove(channel)) {
            Some(channel) => {
                self.streams.insert(channel, stream);
                Frame::SynReply { stream, headers: self.packer.pack(&[]) }
            }
            None => Frame::RstStream { stream, code: REFUSED_STREAM },
        };
        answer.write(&mut self.output);
        Ok(())
    }

    /// Sends output of the node to the client, if the client has opened a stream for it.
    pub(super) fn say(&mut self, channel: u8, data: &[u8]) {
        if let Some(stream) = self.streams.get(&channel) {
            Frame::Data { stream: *stream, is_last: false, data: data.to_vec() }.write(&mut self.output);
        }
    }

    /// The command has ended: ends each stream, and then the connection.
    pub(super) fn end(&mut self) {
        for stream in self.streams.values() {
            Frame::Data { stream: *stream, is_last: true, data: Vec::new() }.write(&mut self.output);
        }
        let last = self.streams.values().max().copied().unwrap_or_default();
        Frame::GoAway { last }.write(&mut self.output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Client {
        packer: Packer,
        session: Session,
    }

    impl Client {
        fn of(wanted: &[u8]) -> Self {
            Self { packer: Packer::new(), session: Session::new(wanted.iter().copied().collect()) }
        }

        fn send(&mut self, frame: &Frame) -> Vec<Vec<u8>> {
            let mut bytes = Vec::new();
            frame.write(&mut bytes);
            self.session.hear(&bytes).unwrap()
        }

        fn open(&mut self, stream: u32, sort: &str) {
            let headers = self.packer.pack(&[("streamtype", sort)]);
            self.send(&Frame::SynStream { stream, is_last: false, headers });
        }

        fn receive(&mut self) -> Vec<Frame> {
            let mut frames = Frames::default();
            frames.push(&self.session.take_output());
            std::iter::from_fn(|| frames.next_frame().unwrap()).collect()
        }
    }

    #[test]
    fn a_command_runs_over_a_stream_for_each_channel() {
        let mut client = Client::of(&[ERROR, STDIN, STDOUT]);
        client.open(1, "error");
        client.open(3, "stdin");
        assert!(!client.session.is_open());
        client.open(5, "stdout");
        assert!(client.session.is_open());
        let taken = client.receive();
        assert!(matches!(
            taken[..],
            [Frame::SynReply { stream: 1, .. }, Frame::SynReply { stream: 3, .. }, Frame::SynReply { stream: 5, .. }]
        ));
        let data = |stream: u32, is_last: bool, data: &[u8]| Frame::Data { stream, is_last, data: data.to_vec() };
        assert_eq!(client.send(&data(3, true, b"hello")), [piece(STDIN, b"hello"), piece(CLOSE, &[STDIN])]);
        client.session.say(STDOUT, b"world");
        client.session.say(STDERR, b"nobody listens");
        client.session.end();
        assert_eq!(
            client.receive(),
            [
                data(5, false, b"world"),
                data(3, true, b""),
                data(5, true, b""),
                data(1, true, b""),
                Frame::GoAway { last: 5 }
            ]
        );
    }

    #[test]
    fn a_stream_that_is_not_wanted_is_refused_and_a_question_is_answered() {
        let mut client = Client::of(&[ERROR]);
        client.open(1, "stdin");
        client.open(3, "magic");
        client.send(&Frame::Ping { id: 7 });
        client.send(&Frame::Ping { id: 8 });
        assert_eq!(
            client.receive(),
            [
                Frame::RstStream { stream: 1, code: REFUSED_STREAM },
                Frame::RstStream { stream: 3, code: REFUSED_STREAM },
                Frame::Ping { id: 7 }
            ]
        );
        assert!(!client.session.is_over());
        client.send(&Frame::GoAway { last: 0 });
        assert!(client.session.is_over());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_of_a_client_are_accepted_or_refused(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let _ = Session::new(BTreeSet::from([ERROR])).hear(&bytes);
        }
    }
}
