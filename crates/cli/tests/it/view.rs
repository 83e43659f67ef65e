//! The page of a run in a file and of a cluster that runs, and what is said where there is nothing to show.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coracle_journal::{EntryId, Events};

use crate::program::{Folder, Running, coracle, repository, succeed, text, there_is};

/// The events of a small scenario.
fn events(folder: &Folder) -> PathBuf {
    let file = folder.join("events.jsonl");
    let scenario = repository().join("scenarios/delete-a-pod.yaml");
    succeed(coracle().args(["run", "-q"]).arg(scenario).arg("--events").arg(&file));
    file
}

fn refused(command: &mut Command, code: i32, why: &str) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {}", text(&output));
    assert!(text(&output).contains(why), "expected {why:?}, found {:?}", text(&output));
    output
}

/// Starts a program that serves a page; its link.
pub(crate) fn serving(command: &mut Command) -> (Running, String) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let running = Running::of(child);
    loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "{command:?} prints no link");
        if let Some(link) = line.split_whitespace().find(|word| word.starts_with("http://")) {
            let link = link.to_owned();
            // What it says later must not break a pipe.
            #[expect(clippy::disallowed_methods, reason = "a pipe is read beside the test")]
            std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
            return (running, link);
        }
    }
}

/// Asks for what is behind a link, as somebody who calls the server by this name.
fn ask(link: &str, host: &str) -> TcpStream {
    let (address, path) = link.trim_start_matches("http://").split_once('/').unwrap();
    let path = path.split('#').next().unwrap_or_default();
    let mut stream = TcpStream::connect(address).unwrap();
    let host = if host.is_empty() { address } else { host };
    stream.write_all(format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
    stream
}

pub(crate) fn answer(link: &str, host: &str) -> String {
    let mut answer = String::new();
    ask(link, host).read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_run_is_served_at_loopback_to_who_has_the_link() {
    let folder = Folder::new("view");
    let file = events(&folder);
    let (_running, link) = serving(coracle().arg("view").arg(&file).args(["--at", "#412"]));
    assert!(link.starts_with("http://127.0.0.1:") && link.ends_with("/#i=412"), "{link}");
    assert!(answer(&link, "").starts_with("HTTP/1.1 200"));
    assert!(answer(&link, "evil.example").starts_with("HTTP/1.1 403"));
    let (other, _) = link.split_once("/#").unwrap();
    let wrong = format!("{}{}/", &other[..other.len() - 4], "0000");
    assert!(answer(&wrong, "").starts_with("HTTP/1.1 403"));
}

#[test]
fn reports_are_written_from_an_events_file_and_from_a_page_as_from_the_run() {
    let folder = Folder::new("view-report");
    let (file, page) = (events(&folder), folder.join("run.html"));
    succeed(coracle().arg("view").arg(&file).arg("--report").arg(&page));
    for ending in ["html", "json", "xml", "md", "perfetto.json"] {
        let (one, other) = (folder.join(&format!("a.{ending}")), folder.join(&format!("b.{ending}")));
        succeed(coracle().arg("view").arg(&file).arg("--report").arg(&one));
        succeed(coracle().arg("view").arg(&page).arg("--report").arg(&other));
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&other).unwrap(), "{ending}");
    }
    let why = |run: &Path| succeed(coracle().args(["why", "rev=100", "--events"]).arg(run));
    assert_eq!(why(&file), why(&page));
}

#[test]
fn a_report_into_a_folder_that_is_not_there_is_refused_before_the_run() {
    let folder = Folder::new("view-no-folder");
    let file = repository().join("scenarios/delete-a-pod.yaml");
    for option in ["--report", "--events"] {
        let page = folder.join("none/run.html");
        refused(
            coracle().arg("run").arg(&file).arg(option).arg(&page),
            2,
            &format!("{option} {}: there is no folder", page.display()),
        );
    }
}

#[test]
fn a_run_that_is_cut_is_a_page_up_to_there_and_a_mistake() {
    let folder = Folder::new("view-cut");
    let whole = std::fs::read(events(&folder)).unwrap();
    let (file, page, summary) = (folder.join("cut.jsonl"), folder.join("cut.html"), folder.join("cut.json"));
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let line = whole[..whole.len() / 2].iter().filter(|byte| **byte == b'\n').count() + 1;
    let why =
        format!("events file {}, line {line}: it is cut here; expected {{\"end\":…}} as the last line", file.display());
    refused(coracle().arg("view").arg(&file).arg("--report").arg(&page), 2, &why);
    refused(coracle().arg("view").arg(&file).arg("--report").arg(&summary), 2, "a page (.html) can");
    assert!(!summary.exists());
    refused(coracle().arg("diff").args([&file, &file]), 2, &why);
    for command in [coracle().arg("story").arg(&file).arg("#1"), coracle().args(["why", "#1", "--events"]).arg(&file)] {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(
            !output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains(&why),
            "{}",
            text(&output)
        );
    }
    let read = coracle_viewer::read(&page).unwrap();
    assert_eq!(read.cut.unwrap(), why, "the page says the same");
    assert_eq!(read.events.entries.last().unwrap().id, EntryId(line as u64 - 2), "and holds what came before");
    let (_running, link) = serving(coracle().arg("view").arg(&file));
    assert!(answer(&link, "").starts_with("HTTP/1.1 200"));
}

#[test]
fn an_invalid_run_is_refused_with_file_line_and_expectation() {
    let folder = Folder::new("view-foreign");
    let page = folder.join("run.html");
    succeed(coracle().arg("view").arg(events(&folder)).arg("--report").arg(&page));
    let written = std::fs::read_to_string(&page).unwrap();
    let at = written.find("octet-stream\">").unwrap() + 20;
    let broken = format!("{}{}", &written[..at], &written[at + 400..]);
    let line = written[..at].matches('\n').count() + 1;
    for (name, holds, why) in [
        ("a.jsonl", "{}\n".to_owned(), "line 1: expected {\"log\":\"coracle\",\"schema\":1,…}, found `{}".to_owned()),
        ("b.jsonl", "{\"log\":\"coracle\",\"schema\":9}\n".to_owned(), "line 1: expected schema 1, found 9".to_owned()),
        ("c.html", "<p>".to_owned(), "line 1: expected a page that `--report FILE.html` wrote".to_owned()),
        ("d.html", broken, format!("line {line}: expected a run as gzip in base64")),
    ] {
        let file = folder.join(name);
        std::fs::write(&file, holds).unwrap();
        let output = refused(coracle().arg("view").arg(&file), 2, &why);
        assert!(text(&output).contains(&*file.to_string_lossy()), "{}", text(&output));
    }
    refused(coracle().arg("view").arg(folder.join("none.jsonl")), 2, "none.jsonl");
    refused(coracle().args(["view", "--address", "localhost"]).arg(&page), 2, "expected an address");
    refused(coracle().args(["view", "--report", "a.pdf"]).arg(&page), 2, "a report ends with .html");
}

#[test]
fn an_unknown_object_gets_the_closest_name_in_the_run() {
    let folder = Folder::new("view-nearest");
    let file = events(&folder);
    let last = Events::read(&file).unwrap().entries.last().unwrap().id.0;
    let wrong = [
        ("#999999", format!("the log holds no event #999999; the nearest is #{last}")),
        ("rev=-3", "the log holds nothing at revision -3; the nearest is".to_owned()),
        (
            "replicaset/wep",
            "nothing in the log is about `replicasets/wep`; the nearest is `replicasets/default/web`".to_owned(),
        ),
    ];
    for (called, why) in wrong {
        refused(coracle().args(["why", called, "--events"]).arg(&file), 4, &why);
        refused(coracle().arg("view").arg(&file).args(["--at", called]), 4, &why);
        refused(coracle().arg("story").arg(&file).arg(called), 4, &why);
    }
    refused(coracle().args(["why", "#x", "--events"]).arg(&file), 2, "expected a number");
}

#[test]
fn the_page_of_a_cluster_shows_events_and_no_secret_data() {
    if !there_is("kubectl") {
        return;
    }
    let folder = Folder::new("view-up");
    let (_running, link) =
        serving(coracle().args(["up", "--ephemeral", "--nodes=0", "--view"]).env("CORACLE_STATE_DIR", folder.path()));
    let kubectl =
        |arguments: &[&str]| succeed(coracle().arg("kubectl").args(arguments).env("CORACLE_STATE_DIR", folder.path()));
    kubectl(&["create", "secret", "generic", "planted", "--from-literal=password=mark-5a17"]);
    kubectl(&["create", "configmap", "last"]);
    let stream = ask(&format!("{link}events"), "");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut told = String::new();
    for line in BufReader::new(stream).lines() {
        told.push_str(&line.unwrap());
        if told.contains("configmaps/default/last") && told.contains("secrets/default/planted") {
            break;
        }
    }
    assert!(told.contains("data.password"), "the log says what it leaves out");
    for mark in ["mark-5a17", "bWFyay01YTE3"] {
        assert!(!told.contains(mark), "{mark}");
    }
    let token = std::fs::read_to_string(folder.join("pki/admin.token")).unwrap();
    assert!(!told.contains(token.trim()) && answer(&link, "evil.example").starts_with("HTTP/1.1 403"));
}

#[test]
fn a_page_with_more_than_a_run_is_shown_with_all_of_it() {
    let folder = Folder::new("view-beside");
    let (page, again, summary) = (folder.join("lesson.html"), folder.join("again.html"), folder.join("run.json"));
    succeed(coracle().args(["learn", "conflict-is-fine", "--plain", "--report"]).arg(&page));
    let output = coracle().arg("view").arg(&page).arg("--report").arg(&again).output().unwrap();
    assert!(output.status.success() && !text(&output).contains("the run alone"), "{}", text(&output));
    assert!(std::fs::read(&page).unwrap() == std::fs::read(&again).unwrap(), "the lesson is in both");
    let output = coracle().arg("view").arg(&page).arg("--report").arg(&summary).output().unwrap();
    assert!(output.status.success() && text(&output).contains("also holds a lesson"), "{}", text(&output));
    let (_view, link) = serving(coracle().arg("view").arg(&page));
    let served = answer(&link, "");
    assert!(served.contains(&*std::fs::read_to_string(&page).unwrap()), "{} bytes are served", served.len());
}
