//! Bad input: whatever bytes arrive, the face answers and goes on.

use bytes::{BufMut, BytesMut};
use coracle_ambient::{Ambient, Random};
use coracle_etcd::{Face, FaceOptions};
use coracle_journal::Recorder;
use coracle_store::{Engine, Operation, Options, Store, Txn};
use proptest::prelude::*;
use std::sync::Arc;

use crate::common::{connect, serve};
use crate::fuzzed::{self, METHODS, framed, send};

/// Bytes that look like a message: fields with small numbers, some of them messages again.
fn message(random: &Random, depth: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(6) {
        let field = random.below(14) as u8 + 1;
        match random.below(4) {
            0 => {
                bytes.push(field << 3);
                let mut number = random.bits() >> random.below(64);
                while number >= 0x80 {
                    bytes.push(number as u8 | 0x80);
                    number >>= 7;
                }
                bytes.push(number as u8);
            }
            1 if depth > 0 => {
                let inner = message(random, depth - 1);
                if inner.len() < 128 {
                    bytes.extend([field << 3 | 2, inner.len() as u8]);
                    bytes.extend(inner);
                }
            }
            2 => {
                let length = random.below(10) as u8;
                bytes.extend([field << 3 | 2, length]);
                bytes.extend((0..length).map(|_| random.bits() as u8));
            }
            _ => bytes.push(random.bits() as u8),
        }
    }
    bytes
}

#[tokio::test(start_paused = true)]
async fn every_method_answers_random_messages_with_a_code_and_the_store_stays_sound() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine.clone()), FaceOptions::default());
    let random = Random::from_seed(99);
    for round in 0..4000 {
        let method = METHODS[round % METHODS.len()];
        let message = message(&random, 3);
        let body = match random.below(8) {
            // Shorter than it says, longer than it says, or said to be compressed.
            0 => framed(&message).slice(..random.below(message.len() as u64 + 5) as usize),
            1 => [&framed(&message)[..], &[1, 2, 3]].concat().into(),
            2 => [&[1][..], &framed(&message)[1..]].concat().into(),
            _ => framed(&message),
        };
        let code = send(&face, method, body).await;
        assert!(code.is_some() || method.ends_with("Health/Watch"), "{method} answers with a code");
    }
    let put = Txn { success: vec![Operation::put("still", "here")], ..Txn::default() };
    assert!(engine.txn(put).await.unwrap().succeeded);
}

#[tokio::test]
async fn a_length_beyond_the_limit_is_refused_before_anything_is_read() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine), FaceOptions::default());
    let mut body = BytesMut::new();
    body.put_u8(0);
    body.put_u32(u32::MAX);
    body.put_slice(&[0; 16]);
    assert_eq!(send(&face, "etcdserverpb.KV/Put", body.freeze()).await.as_deref(), Some("11"));
}

#[tokio::test]
async fn transactions_nested_too_deeply_are_refused() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine), FaceOptions::default());
    let mut message: Vec<u8> = Vec::new();
    for _ in 0..300 {
        for field in [4_u8, 2] {
            let mut outer = vec![field << 3 | 2];
            let mut length = message.len();
            while length >= 0x80 {
                outer.push(length as u8 | 0x80);
                length >>= 7;
            }
            outer.push(length as u8);
            outer.extend(&message);
            message = outer;
        }
    }
    let code = send(&face, "etcdserverpb.KV/Txn", framed(&message)).await;
    assert_ne!(code.as_deref(), Some("0"));
}

#[tokio::test]
async fn invalid_protocol_bytes_end_only_their_connection() {
    let served = serve().await;
    let address = served.url.trim_start_matches("http://").to_owned();
    let random = Random::from_seed(5);
    for _ in 0..50 {
        let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.bits() as u8).collect();
        let preface: &[u8] = if random.below(2) == 0 { b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" } else { b"" };
        let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, &[preface, &noise].concat()).await;
    }
    let store = connect(&served.url).await;
    assert_eq!(store.status().await.unwrap().revision, 1);
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/messages");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there is a corpus");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn what_fuzzing_has_collected_is_answered() {
    corpus().iter().for_each(|bytes| fuzzed::message(bytes));
}

proptest! {
    #[test]
    fn valid_messages_with_something_changed_are_answered(
        message in proptest::sample::select(corpus()),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0_u8..4), 0..6),
    ) {
        let mut bytes = message;
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len() + 1);
            match edit {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => bytes.push(byte),
            }
        }
        fuzzed::message(&bytes);
    }
}
