//! etcd's own command-line client on our face and on a real etcd: the same commands, the same output.

use std::process::Stdio;
use std::time::Duration;

use coracle_store::{KeyRange, Operation, RangeRequest, Store, Txn};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::common::{connect, find, real_etcd, serve};

fn etcdctl(url: &str) -> Option<Command> {
    let Some(program) = find("etcdctl") else {
        println!("SKIPPED: there is no etcdctl on this machine");
        return None;
    };
    let mut command = Command::new(program);
    command.env("ETCDCTL_API", "3").args(["--endpoints", url.trim_start_matches("http://")]).kill_on_drop(true);
    Some(command)
}

/// Runs a command to its end; exit code, output and errors in one text.
async fn run(url: &str, line: &str, input: &str) -> Option<String> {
    let mut child = etcdctl(url)?
        .args(line.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = timeout(Duration::from_secs(20), child.wait_with_output()).await.expect("it ends").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some(format!("{:?}\n{}{}", output.status.code(), text(output.stdout), text(output.stderr)))
}

/// A command that goes on until it is interrupted or dropped.
struct Session {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Session {
    fn start(url: &str, line: &str) -> Self {
        let mut command = etcdctl(url).unwrap();
        let mut child = command
            .args(line.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    async fn write(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// The next so many lines.
    async fn read(&mut self, count: usize) -> String {
        let mut text = String::new();
        while text.lines().count() < count {
            self.read_line(&mut text).await;
        }
        text
    }

    async fn read_until(&mut self, word: &str) -> String {
        let mut text = String::new();
        while !text.contains(word) {
            self.read_line(&mut text).await;
        }
        text
    }

    async fn read_line(&mut self, text: &mut String) {
        match timeout(Duration::from_secs(20), self.lines.read_line(text)).await {
            Ok(Ok(length)) if length > 0 => {}
            other => panic!("{other:?} after {text:?}"),
        }
    }

    /// Ctrl-C, at which etcdctl gives back what it holds.
    fn interrupt(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }
}

/// What ends a word.
const ENDS: [char; 8] = [' ', ',', ':', '(', ')', '}', '\t', '/'];

/// Takes out what two stores cannot have in common: ids, terms, sizes, versions, addresses and times.
fn masked(text: &str, url: &str) -> String {
    let text = text
        .replace(url, "URL")
        .replace("\"peerURLs\":[\"\"],", "")
        .replace(url.trim_start_matches("http://"), "ADDRESS");
    let mut masked = String::new();
    for line in text.lines() {
        // A logged retry carries a time of day and the address of a connection.
        if line.contains("\"level\":\"warn\"") {
            continue;
        }
        let words = line.split_inclusive(ENDS).map(|word| {
            let (bare, end) = word.split_at(word.trim_end_matches(ENDS).len());
            let id = bare.len() >= 14 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
            let time = bare.strip_suffix("ms").or(bare.strip_suffix("µs"));
            let time = time.is_some_and(|number| number.parse::<f64>().is_ok());
            if id || time { format!("MASK{end}") } else { word.to_owned() }
        });
        masked.extend(words);
        masked.push('\n');
    }
    for field in ["\"took\":", "\"cluster_id\":", "\"member_id\":", "\"raft_term\":"] {
        while let Some(start) = masked.find(field) {
            let end = masked[start..].find([',', '}']).map_or(masked.len(), |end| start + end);
            masked.replace_range(start..end, "MASK");
        }
    }
    masked
}

const COMMANDS: &[(&str, &str)] = &[
    ("put a 1", ""),
    ("put a 2 --prev-kv", ""),
    ("put b 7 -w json", ""),
    ("put c --ignore-value", ""),
    ("put b --ignore-value", ""),
    ("put d 1 --lease=123", ""),
    ("put dir/x 3", ""),
    ("put dir/y 1", ""),
    ("put dir/z 2", ""),
    ("get a", ""),
    ("get a -w json", ""),
    ("get a -w fields", ""),
    ("get missing", ""),
    ("get dir --prefix", ""),
    ("get b --from-key --print-value-only", ""),
    ("get a d", ""),
    ("get dir --prefix --keys-only", ""),
    ("get dir --prefix --count-only -w json", ""),
    ("get dir --prefix --limit=2 -w json", ""),
    ("get dir --prefix --sort-by=VALUE --order=DESCEND", ""),
    ("get dir --prefix --sort-by=MODIFY", ""),
    ("get dir --prefix --rev=8", ""),
    ("get dir --prefix --rev=5", ""),
    ("get a --rev=999", ""),
    ("get a --consistency=s", ""),
    ("txn -w json", "mod(\"a\") = \"3\"\nval(\"b\") = \"7\"\n\nput a 3\nget dir/x\ndel dir/z\n\nget a\n\n"),
    ("txn", "ver(\"a\") > \"9\"\ncreate(\"a\") = \"2\"\n\nput a 4\n\nget a\ndel missing\n\n"),
    ("txn", "\nput q 1\nput q 2\n\n\n"),
    ("txn", "\nput p 1\ndel p --prefix\n\n\n"),
    ("del dir/y --prev-kv", ""),
    ("del missing", ""),
    ("del dir --prefix -w json", ""),
    ("put one 1", ""),
    ("put two 2", ""),
    ("del one --from-key", ""),
    ("endpoint hashkv", ""),
    ("compaction 5", ""),
    ("compaction 5", ""),
    ("compaction 900", ""),
    ("get a --rev=2", ""),
    ("get a --rev=5", ""),
    ("lease list", ""),
    ("lease timetolive 1234", ""),
    ("lease revoke 1234", ""),
    ("lease keep-alive --once 1234", ""),
    ("endpoint health", ""),
    ("endpoint hashkv", ""),
    ("alarm list", ""),
    ("alarm disarm", ""),
    ("defrag", ""),
    ("lock mutex true", ""),
    ("lock mutex -- false", ""),
    ("move-leader 1", ""),
    ("get a -w simple --hex", ""),
    ("get dir --prefix --order=DESCEND", ""),
    ("get dir --prefix --sort-by=CREATE --order=ASCEND", ""),
    ("get dir --prefix --sort-by=VERSION -w json", ""),
    ("get b a", ""),
    ("put a", "from the input"),
    ("put a 1 --ignore-lease", ""),
    ("put new 1 --ignore-lease", ""),
    ("del a b --prev-kv -w json", ""),
    ("compaction 6 --physical", ""),
    ("member list", ""),
    ("member list -w json", ""),
    ("member remove 1", ""),
    ("endpoint health -w json", ""),
    ("endpoint health --cluster", ""),
    ("user list", ""),
    ("role list", ""),
    ("user get root", ""),
    ("user delete root", ""),
    ("user grant-role root root", ""),
    ("role get root", ""),
    ("role delete root", ""),
    ("role grant-permission root read a", ""),
    ("auth enable", ""),
    ("auth disable", ""),
    ("get a --user root:secret", ""),
    ("watch --prefix", ""),
    ("nonsense", ""),
    ("version", ""),
    ("txn -i", "mod(\"a\") > \"0\"\n\nput a 9\nget a\n\nget b\n\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn etcdctl_prints_the_same_on_both() {
    let Some(etcd) = real_etcd().await else { return };
    let ours = serve().await;
    let mut different = Vec::new();
    for (line, input) in COMMANDS {
        let Some(expected) = run(&etcd.url, line, input).await else { return };
        // A store without peers has no URL for them.
        let expected = expected.replace(&etcd.peer, "");
        let found = run(&ours.url, line, input).await.unwrap();
        let (expected, found) = (masked(&expected, &etcd.url), masked(&found, &ours.url));
        if expected != found {
            different.push(format!("etcdctl {line}\n--- etcd:\n{expected}--- ours:\n{found}"));
        }
    }
    assert!(different.is_empty(), "{} of {} differ\n{}", different.len(), COMMANDS.len(), different.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn etcdctl_follows_the_life_of_a_lease_alike_on_both() {
    let Some(etcd) = real_etcd().await else { return };
    let ours = serve().await;
    let mut outputs = Vec::new();
    for url in [&etcd.url, &ours.url] {
        let Some(granted) = run(url, "lease grant 500", "").await else { return };
        let id = granted.split(' ').nth(1).unwrap().to_owned();
        let mut output = masked(&granted, url);
        for line in [
            "put leased 1 --lease=ID",
            "lease timetolive ID --keys",
            "lease list",
            "lease keep-alive --once ID",
            "lease revoke ID",
            "get leased -w json",
            "lease timetolive ID",
        ] {
            let text = run(url, &line.replace("ID", &id), "").await.unwrap();
            // A second may pass between two commands.
            output += &masked(&text, url).replace("remaining(499s)", "remaining(500s)");
        }
        outputs.push(output);
    }
    assert_eq!(outputs[0], outputs[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn etcdctl_watches_alike_on_both() {
    let Some(etcd) = real_etcd().await else { return };
    let ours = serve().await;
    let mut outputs = Vec::new();
    for url in [&etcd.url, &ours.url] {
        for line in ["put w/a 1", "put w/a 2", "put v 1", "del w/a"] {
            if run(url, line, "").await.is_none() {
                return;
            }
        }
        let mut watch = Session::start(url, "watch w/ --prefix --rev=2 --prev-kv");
        let mut events = watch.read(13).await;
        let mut interactive = Session::start(url, "watch -i");
        interactive.write("watch w/b\nwatch w/ --prefix --rev=2\n").await;
        events += &interactive.read(9).await;
        let mut json = Session::start(url, "watch w/ w0 --rev=3 -w json");
        events += &masked(&json.read(1).await, url);
        let mut command = Session::start(url, "watch v --rev=1 -- env");
        let said = command.read_until("ETCD_WATCH_VALUE").await;
        events.extend(said.lines().filter(|line| line.starts_with("ETCD_WATCH")).map(|line| format!("{line}\n")));
        outputs.push(events);
    }
    assert_eq!(outputs[0], outputs[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn etcdctl_locks_elects_and_keeps_leases_alive_alike_on_both() {
    let Some(etcd) = real_etcd().await else { return };
    let ours = serve().await;
    if etcdctl(&ours.url).is_none() {
        return;
    }
    let (first, second) = tokio::join!(recipes(&etcd.url), recipes(&ours.url));
    assert_eq!(first, second);
}

async fn recipes(url: &str) -> String {
    let mut holder = Session::start(url, "lock recipe");
    let mut said = holder.read(1).await;
    let mut waiter = Session::start(url, "lock recipe");
    assert!(timeout(Duration::from_millis(300), waiter.read(1)).await.is_err(), "two hold the lock");
    holder.interrupt();
    said += &waiter.read(1).await;

    let mut leader = Session::start(url, "elect job first");
    said += &leader.read(2).await;
    let mut observer = Session::start(url, "elect -l job");
    said += &observer.read(2).await;
    let mut next = Session::start(url, "elect job second");
    assert!(timeout(Duration::from_millis(300), next.read(1)).await.is_err(), "two lead");
    leader.interrupt();
    said += &next.read(2).await;
    said += &observer.read(2).await;

    let granted = run(url, "lease grant 3", "").await.unwrap();
    let id = granted.split(' ').nth(1).unwrap().to_owned();
    let mut alive = Session::start(url, &format!("lease keep-alive {id}"));
    said += &alive.read(3).await;
    said += &run(url, &format!("lease revoke {id}"), "").await.unwrap();
    said += &alive.read(1).await;
    masked(&said, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn etcdctl_checks_how_much_data_the_store_takes() {
    let ours = serve().await;
    let Some(output) = run(&ours.url, "check datascale --load=s --auto-compact", "").await else { return };
    assert!(output.starts_with("Some(0)") && output.contains("PASS"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_copies_everything_from_us_to_an_etcd_and_back() {
    let Some(etcd) = real_etcd().await else { return };
    let (first, second) = (serve().await, serve().await);
    let (source, middle, end) = (connect(&first.url).await, connect(&etcd.url).await, connect(&second.url).await);
    for number in 0..300 {
        let put = Operation::put(format!("m/{number:03}"), vec![number as u8; 50]);
        source.txn(Txn { success: vec![put], ..Txn::default() }).await.unwrap();
    }
    for (from, to, target) in [(&first.url, &etcd.url, &middle), (&etcd.url, &second.url, &end)] {
        let Some(mut command) = etcdctl(from) else { return };
        let address = to.trim_start_matches("http://");
        let _mirror = command.args(["make-mirror", address]).stdout(Stdio::null()).spawn().unwrap();
        let all = || target.range(RangeRequest { range: KeyRange::prefix("m/"), ..RangeRequest::default() });
        let copied = async {
            while all().await.unwrap().count < 300 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(20), copied).await.expect("the mirror arrives");
        let kvs = all().await.unwrap().kvs;
        assert!(kvs.iter().enumerate().all(|(number, kv)| kv.value[..] == vec![number as u8; 50]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_refused_and_the_way_that_works_is_named() {
    let ours = serve().await;
    let folder = tempfile::tempdir().unwrap();
    let line = format!("snapshot save {}", folder.path().join("snapshot").display());
    let Some(output) = run(&ours.url, &line, "").await else { return };
    assert!(output.contains("coracle store backup") && !output.starts_with("Some(0)"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_version_and_metrics_are_answered_over_plain_http() {
    let ours = serve().await;
    let address = ours.url.trim_start_matches("http://");
    for (path, expected) in [
        ("/health", "\"health\":\"true\""),
        ("/version", "\"etcdserver\":\"3."),
        ("/metrics", "etcd_debugging_mvcc_current_revision 1"),
        ("/nothing", "404"),
    ] {
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut socket, &mut answer).await.unwrap();
        assert!(answer.contains(expected), "{path}: {answer}");
    }
}
