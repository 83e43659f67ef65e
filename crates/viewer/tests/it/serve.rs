//! The page behind a socket: who is let in, and what a stream holds.

use std::net::SocketAddr;

use coracle_journal::{Detail, Entry, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::serve::{Secret, ServedPage};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const SECRET: &str = "5ec2e75ec2e75ec2e75ec2e75ec2e75e";

async fn served(site: ServedPage) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(site.serve(listener, Secret::new(SECRET.to_owned())));
    address
}

fn cluster(recorder: &Recorder) -> ServedPage {
    ServedPage::of_cluster(recorder.clone(), header(), EntryId(1))
}

fn header() -> Header {
    Header::new("2026-01-01T00:00:00Z")
}

/// A whole answer to a request with these lines after the first.
async fn ask(address: SocketAddr, first: &str, headers: &[String]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let lines = headers.iter().map(|line| format!("{line}\r\n")).collect::<String>();
    stream.write_all(format!("{first} HTTP/1.1\r\n{lines}connection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// A stream of events that is being read.
struct Stream(BufReader<TcpStream>);

#[derive(Debug)]
struct Sent {
    name: String,
    id: String,
    /// A value a line.
    data: Vec<Value>,
}

impl Stream {
    async fn open(address: SocketAddr, last: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let ask = format!("GET /{SECRET}/events HTTP/1.1\r\nhost: {address}\r\n{last}\r\n");
        stream.write_all(ask.as_bytes()).await.unwrap();
        Self(BufReader::new(stream))
    }

    /// The next event; the lines between that frame chunks are passed over.
    async fn next(&mut self) -> Sent {
        let mut sent = Sent { name: String::new(), id: String::new(), data: Vec::new() };
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).await.unwrap() > 0, "the stream ended");
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut sent.name),
                Some(("id", id)) => id.clone_into(&mut sent.id),
                Some(("data", data)) => sent.data.push(serde_json::from_str(data).unwrap()),
                _ if line.trim().is_empty() && !sent.data.is_empty() => return sent,
                _ => {}
            }
        }
    }

    /// Events until one with this id; all their rows.
    async fn rows_up_to(&mut self, id: EntryId) -> Vec<Value> {
        let mut rows = Vec::new();
        loop {
            let sent = self.next().await;
            rows.extend(sent.data);
            if sent.id == id.0.to_string() {
                return rows;
            }
        }
    }
}

fn rows(entries: &[Entry]) -> Vec<Value> {
    entries.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect()
}

fn say(recorder: &Recorder, name: &str) -> EntryId {
    let detail = || Detail::about(format!("pods/default/{name}")).at(7).with("op", "create").caused_by([EntryId(1)]);
    recorder.record("store", Stage::StoreCommit, detail).unwrap()
}

#[tokio::test]
async fn the_link_returns_the_page_with_a_policy_that_permits_only_events() {
    let address = served(cluster(&Recorder::ring(10))).await;
    let link = Secret::new(SECRET.to_owned()).link(address);
    assert_eq!(link, format!("http://{address}/{SECRET}/"));
    let answer = ask(address, &format!("GET /{SECRET}/"), &[format!("host: {address}")]).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{}", &answer[..200]);
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
    assert!(policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"), "{policy}");
    assert!(policy.ends_with("; frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(
        page.contains("data-events=\"events\"") && page.contains("content=\"default-src 'none'; connect-src 'self'; ")
    );
    for kept in ["cache-control: no-store", "referrer-policy: no-referrer", "x-content-type-options: nosniff"] {
        assert!(head.contains(kept), "{head}");
    }
    assert!(!answer.contains(SECRET), "the page does not say by which secret it was reached");
}

#[tokio::test]
async fn a_wrong_secret_host_or_origin_gets_403_without_a_body() {
    let recorder = Recorder::ring(10);
    say(&recorder, "web-1");
    let address = served(cluster(&recorder)).await;
    let own = format!("host: {address}");
    let port = address.port();
    let wrong = "0".repeat(SECRET.len());
    let refused: Vec<(String, Vec<String>)> = vec![
        ("GET /".into(), vec![own.clone()]),
        (format!("GET /{wrong}/"), vec![own.clone()]),
        (format!("GET /{wrong}/events"), vec![own.clone()]),
        (format!("GET /{}/events", &SECRET[1..]), vec![own.clone()]),
        (format!("POST /{wrong}/"), vec![own.clone()]),
        ("GET /favicon.ico".into(), vec![own.clone()]),
        (format!("GET /{SECRET}/"), vec!["host: evil.example".into()]),
        (format!("GET /{SECRET}/events"), vec![format!("host: evil.example:{port}")]),
        (format!("GET /{SECRET}/events"), vec![own.clone(), "origin: http://evil.example".into()]),
        (format!("GET /{SECRET}/events"), vec![own.clone(), "origin: null".into()]),
        (format!("GET http://evil.example/{SECRET}/events"), vec![own.clone()]),
    ];
    for (first, headers) in refused {
        let answer = ask(address, &first, &headers).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{first} {headers:?}: {head}");
        let said: Vec<&str> = head.lines().skip(1).filter_map(|line| line.split(':').next()).collect();
        assert!(said.iter().all(|name| ["content-length", "connection", "date"].contains(name)), "{first}: {head}");
        assert_eq!(body, "", "{first} {headers:?}");
    }
    let other = ask(address, &format!("GET /{SECRET}/other"), std::slice::from_ref(&own)).await;
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
    let posted = ask(address, &format!("POST /{SECRET}/events"), &[own]).await;
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
}

#[tokio::test]
async fn a_stream_holds_what_the_recorder_holds_and_then_what_it_records() {
    let recorder = Recorder::ring(10_000);
    for number in 0..3_000 {
        say(&recorder, &format!("web-{number}"));
    }
    let address = served(cluster(&recorder)).await;
    let mut stream = Stream::open(address, None).await;
    let hello = stream.next().await;
    assert_eq!((&*hello.name, &hello.data[0]["form"], &hello.data[0]["newest"]), ("hello", &json!(1), &json!(3_000)));
    assert_eq!((&hello.data[0]["begins"], &hello.data[0]["ring"]), (&json!(1), &json!(10_000)));
    let mut found = stream.rows_up_to(EntryId(3_000)).await;
    let last = say(&recorder, "later");
    found.extend(stream.rows_up_to(last).await);
    assert_eq!(found, rows(&recorder.entries(EntryId(0))));
}

#[tokio::test]
async fn a_reconnecting_page_gets_missing_entries_and_sees_gaps() {
    let recorder = Recorder::ring(5);
    let address = served(cluster(&recorder)).await;
    say(&recorder, "a");
    let second = say(&recorder, "b");
    let mut stream = Stream::open(address, None).await;
    stream.next().await;
    assert_eq!(stream.rows_up_to(second).await.len(), 2);
    drop(stream);
    let third = say(&recorder, "c");
    let mut again = Stream::open(address, Some("2")).await;
    assert_eq!(again.next().await.name, "hello");
    assert_eq!(again.rows_up_to(third).await, rows(&recorder.entries(third)));
    drop(again);
    for (last, first) in [(u64::MAX.to_string(), None), ("no number".to_owned(), Some(1))] {
        let mut strange = Stream::open(address, Some(&last)).await;
        assert_eq!(strange.next().await.name, "hello", "{last}");
        if let Some(first) = first {
            assert_eq!(strange.next().await.data[0]["i"], first, "{last}");
        }
    }
    let last = (0..7).map(|_| say(&recorder, "d")).max().unwrap();
    let mut late = Stream::open(address, Some("3")).await;
    late.next().await;
    let found = late.rows_up_to(last).await;
    assert_eq!(found.iter().map(|row| row["i"].as_u64().unwrap()).collect::<Vec<_>>(), [6, 7, 8, 9, 10]);
}

#[tokio::test]
async fn a_browser_that_does_not_read_blocks_no_client_and_uses_no_memory() {
    let recorder = Recorder::ring(100);
    let address = served(cluster(&recorder)).await;
    let mut stream = Stream::open(address, None).await;
    stream.next().await;
    let large = "x".repeat(10_000);
    for _ in 0..20_000 {
        recorder.record("world", Stage::ObjectChange, || Detail::default().with("whole", large.as_str()));
        tokio::task::yield_now().await;
    }
    let last = say(&recorder, "last");
    // 200 MB were recorded: what was not taken in time is forgotten, and the stream goes on with what the ring holds.
    let found = stream.rows_up_to(last).await;
    assert!(found.len() < 15_000, "{} rows were held for a browser that did not read", found.len());
    let tail = recorder.entries(EntryId(0));
    assert_eq!(found[found.len() - tail.len()..], rows(&tail));
}

#[tokio::test]
async fn the_page_of_a_run_that_is_over_holds_it_and_asks_for_nothing() {
    let recorder = Recorder::ring(10);
    say(&recorder, "web-1");
    let events = Events { header: header(), entries: recorder.entries(EntryId(0)) };
    let address = served(ServedPage::of_run(&events, None)).await;
    let own = [format!("host: {address}")];
    let page = ask(address, &format!("GET /{SECRET}/"), &own).await;
    assert!(!page.contains("connect-src") && !page.contains("data-events"));
    assert!(page.ends_with(&coracle_viewer::report(&events, coracle_viewer::Format::Html)));
    assert!(ask(address, &format!("GET /{SECRET}/events"), &own).await.starts_with("HTTP/1.1 404"));
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_does_not_block_others_for_long() {
    let address = served(cluster(&Recorder::ring(10))).await;
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let answer = ask(address, &format!("GET /{SECRET}/"), &[format!("host: {address}")]).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{}", &answer[..200]);
    for mut stream in silent {
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said).await;
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 408"), "{said:?}");
    }
}
