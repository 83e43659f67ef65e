//! What a terminal shows, as golden screens in `tests/golden/screens`: each command at three widths, with and without
//! colour, in UTF-8 and in ASCII. `CORACLE_WRITE_SCREENS=1` writes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use unicode_width::UnicodeWidthStr;

use crate::program::{Folder, coracle, succeed};
use crate::pty::{Terminal, without_colours};

const WIDTHS: [u16; 3] = [40, 80, 120];
/// What `coracle learn` waits after.
const PROMPTS: [&str; 2] = ["(enter to go on) ", "or enter to see): "];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens")
}

/// Compares the screens of a command with the golden ones, and checks what holds for every screen.
fn compare(name: &str, code: i32, command: impl Fn() -> Command) {
    for columns in WIDTHS {
        for is_utf8 in [true, false] {
            let [coloured, plain] = [true, false].map(|has_colour| {
                let terminal = Terminal { columns, has_colour, is_utf8 };
                screen(name, code, terminal, command())
            });
            assert_eq!(without_colours(&coloured), plain, "{name} at {columns}: colours change nothing else");
            assert_ne!(coloured, plain, "{name} at {columns}: colours mark something");
        }
    }
}

/// The screen of a command, equal to the golden one.
fn screen(name: &str, code: i32, terminal: Terminal, command: Command) -> String {
    let shown = terminal.run(command, &PROMPTS);
    assert_eq!(shown.code, Some(code), "{name} on {terminal:?}: {}", shown.screen);
    let width = shown.widest.width();
    assert!(width <= usize::from(terminal.columns), "{name} on {terminal:?}: {width} columns: {}", shown.widest);
    assert!(terminal.is_utf8 || shown.written.is_ascii(), "{name} on {terminal:?}: {}", shown.screen);
    let screen = without_wall_time(&shown.screen);
    assert!(terminal.has_colour || !screen.contains('\x1b'), "{name} on {terminal:?}: {screen:?}");
    let colour = if terminal.has_colour { "colour" } else { "no-colour" };
    let letters = if terminal.is_utf8 { "utf8" } else { "ascii" };
    let file = folder().join(name).join(format!("{}-{colour}-{letters}.txt", terminal.columns));
    let text = screen.replace('\x1b', "\\e");
    if std::env::var_os("CORACLE_WRITE_SCREENS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        golden == text,
        "{} is not what the terminal shows; look at it, and write it with CORACLE_WRITE_SCREENS=1:\n{text}",
        file.display()
    );
    screen
}

/// A screen with `0.0 ms` as the time on the machine's clock, which differs from run to run.
fn without_wall_time(screen: &str) -> String {
    let Some((before, after)) = screen.split_once(" wall") else { return screen.to_owned() };
    let mut words: Vec<&str> = before.rsplitn(3, ' ').collect();
    let rest = words.pop().unwrap();
    let line_begins = words[1].rfind('\n').map_or("", |end| &words[1][..=end]);
    format!("{rest} {line_begins}0.0 ms wall{after}")
}

/// `coracle run` in the folder of the golden screens, so that names of files are short.
fn run(file: &str) -> Command {
    let mut command = coracle();
    command.args(["run", file]).current_dir(folder());
    command
}

/// A folder with the events file of the scenario that passes.
fn with_log(name: &str) -> Folder {
    let folder = Folder::new(name);
    succeed(run("passes.yaml").args(["-q", "--events"]).arg(folder.join("passes.jsonl")));
    folder
}

/// The pod that was created last.
fn last_pod(folder: &Folder) -> String {
    let log = std::fs::read_to_string(folder.join("passes.jsonl")).unwrap();
    let entries = log.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let created = entries.filter(|entry| entry["s"] == "store.commit" && entry["d"]["op"] == "create");
    let pods = created.filter_map(|entry| Some(entry["k"].as_str()?.strip_prefix("pods/default/")?.to_owned()));
    pods.last().expect("a pod was created")
}

fn in_folder(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = coracle();
    command.args(arguments).current_dir(folder.path());
    command
}

#[test]
fn a_scenario_that_passes_fits_every_terminal() {
    compare("run-passes", 0, || run("passes.yaml"));
}

#[test]
fn a_scenario_that_fails_fits_every_terminal() {
    compare("run-fails", 3, || run("fails.yaml"));
}

#[test]
fn a_lesson_fits_every_terminal() {
    compare("learn", 0, || {
        let mut command = coracle();
        command.args(["learn", "conflict-is-fine"]);
        command
    });
}

#[test]
fn a_story_fits_every_terminal() {
    let folder = with_log("screens-story");
    compare("story", 0, || in_folder(&folder, &["story", "passes.jsonl"]));
}

#[test]
fn a_chain_of_causes_fits_every_terminal() {
    let folder = with_log("screens-why");
    let pod = format!("pod/{}", last_pod(&folder));
    compare("why", 0, || in_folder(&folder, &["why", &pod, "--events", "passes.jsonl"]));
}
