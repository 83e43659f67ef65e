//! The programs of containers: a few well-known commands, interpreted.
//!
//! ```text
//! command and args --Program::of--> script --run (pure)--> Transcript: lines with their times, the end and its code
//! ```
//! No process is executed. A program sees its environment and its mounted files; its output is the container log. Any
//! other command runs forever. A program is a file and a line in [`PROGRAMS`].
//!
//! Not here: pipes, redirections, background jobs. A script that uses them ends with code 2 and an error message.

mod cat;
mod date;
mod echo;
mod env;
mod ls;
mod printf;
mod shell;
mod sleep;
mod syntax;
mod test;
mod transcript;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Container;

use crate::image;
use crate::process_arguments::Variables;
pub use shell::Shell;
pub use transcript::{OutputLine, Transcript};

/// A program: takes its arguments and returns its exit code.
type Program = fn(&mut Shell<'_>, &[String]) -> Result<i32, Stop>;

/// All programs.
const PROGRAMS: &[(&str, Program)] = &[
    ("[", test::bracket),
    ("cat", cat::run),
    ("date", date::run),
    ("echo", echo::run),
    ("env", env::run),
    ("false", |_, _| Ok(1)),
    ("hostname", |shell, _| Ok(shell.say(&shell.world.hostname.clone()))),
    ("ls", ls::run),
    ("printf", printf::run),
    ("sleep", sleep::run),
    ("test", test::run),
    ("true", |_, _| Ok(0)),
];

/// The shells, which take a script after `-c`.
const SHELLS: [&str; 3] = ["sh", "bash", "ash"];

/// Why a script stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It exits with this code.
    Exit(i32),
    /// It runs forever.
    Forever,
}

/// What a program sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// The hostname of the pod.
    pub hostname: String,
    /// Its environment variables.
    pub environment: Variables,
    /// The texts of its files, by their full paths.
    pub files: BTreeMap<String, Arc<str>>,
    /// The mount points of volumes, empty ones included.
    pub folders: BTreeSet<String>,
    /// Why no process can be started, if so.
    pub refusal: Option<&'static str>,
}

/// The exit code of a container that could not be started. In containerd: `errorStartExitCode`.
const NOT_STARTED: i32 = 128;

impl World {
    /// Whether a folder exists.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || self.folders.contains(path) || self.within(&format!("{path}/")).next().is_some()
    }

    /// The paths of files and folders that begin with `folder`, which ends with a slash, without that prefix.
    pub(crate) fn within<'w>(&'w self, folder: &'w str) -> impl Iterator<Item = &'w str> {
        let start = (Bound::Included(folder), Bound::Unbounded);
        let files = self.files.range::<str, _>(start).map(|(path, _)| path);
        let folders = self.folders.range::<str, _>(start);
        let below = move |path: &'w String| path.strip_prefix(folder);
        files.map_while(below).chain(folders.map_while(below))
    }

    /// Why a command cannot be started, in the words of runc.
    pub fn refusal_of(&self, command: &[String]) -> Option<String> {
        let why = self.refusal?;
        Some(command.first().map_or_else(|| why.to_owned(), |program| format!("exec {program}: {why}")))
    }
}

/// The output of a container that starts at `now`; none if its command is unknown and runs forever. If no process can
/// be started, the container writes the reason and ends.
pub fn transcript(container: &Container, world: &World, now: Timestamp) -> Option<Transcript> {
    if let Some(why) = world.refusal_of(&container.command) {
        let mut shell = Shell::new(world, now);
        shell.complain(&why);
        return Some(shell.finish(&Stop::Exit(NOT_STARTED)));
    }
    let command = command_line(container)?;
    Some(run(&command, world, now))
}

/// Runs a command as `exec` does.
pub fn run(command: &[String], world: &World, now: Timestamp) -> Transcript {
    let mut shell = Shell::new(world, now);
    let stop = match shell.execute(command) {
        Ok(code) => Stop::Exit(code),
        Err(stop) => stop,
    };
    shell.finish(&stop)
}

/// The command line of a container, if it names a known program.
fn command_line(container: &Container) -> Option<Vec<String>> {
    let is_shell = image::is_shell(&container.image);
    let mut words: Vec<String> = container.command.clone();
    if !words.is_empty() || is_shell {
        words.extend(container.args.iter().cloned());
    }
    if words.is_empty() && is_shell && !container.tty && !container.stdin {
        // A shell whose standard input is closed.
        words.push("true".to_owned());
    }
    let first = base_name(words.first()?);
    (SHELLS.contains(&first) && words.len() > 1 || find(first).is_some()).then_some(words)
}

/// Whether a command line starts an interactive shell.
pub fn is_prompt(command: &[String]) -> bool {
    let Some((first, rest)) = command.split_first() else { return false };
    SHELLS.contains(&base_name(first)) && !rest.iter().any(|word| !word.starts_with('-') || word.contains('c'))
}

/// Whether a command names a known program.
pub fn is_known(command: &[String]) -> bool {
    let first = command.first().map_or("", |first| base_name(first));
    SHELLS.contains(&first) || find(first).is_some()
}

fn find(name: &str) -> Option<Program> {
    PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, program)| *program)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn container(value: serde_json::Value) -> Container {
        serde_json::from_value(value).unwrap()
    }

    fn of(value: serde_json::Value) -> Option<Transcript> {
        let now = coracle_meta::parse_time("2026-01-01T00:00:00Z").unwrap();
        let environment = Variables::unit("GREETING".to_owned(), "hello".into());
        let files = [("/etc/config/a".to_owned(), "one\ntwo\n".into())].into();
        let folders = ["/data".to_owned()].into();
        let world = World { hostname: "web-1".to_owned(), environment, files, folders, refusal: None };
        transcript(&container(value), &world, now)
    }

    /// Lines and the end of a script, with the seconds after which they come.
    type Played = (Vec<(u64, String)>, Option<(u64, i32)>);

    fn script(text: &str) -> Played {
        let done = of(serde_json::json!({"name": "c", "image": "i", "command": ["/bin/sh", "-c", text]})).unwrap();
        let seconds = |duration: Duration| duration.as_secs();
        let lines = done.lines.iter().map(|line| (seconds(line.after), line.text.clone())).collect();
        (lines, done.end.map(|(after, code)| (seconds(after), code)))
    }

    fn said(text: &str) -> Vec<String> {
        script(text).0.into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn commands_are_run_one_after_the_other_and_take_their_time() {
        let (lines, end) = script("echo one; sleep 5; echo \"$GREETING\" 'two  $x' && exit 3");
        assert_eq!(lines, [(0, "one".to_owned()), (5, "hello two  $x".to_owned())]);
        assert_eq!(end, Some((5, 3)));
    }

    #[test]
    fn the_exit_code_decides_which_command_runs() {
        assert_eq!(
            said("false && echo a || echo b; test 1 -lt 2 && echo c; [ -f /etc/config/a ] && echo d"),
            ["b", "c", "d"]
        );
        assert_eq!(script("set -e; false; echo never").1, Some((0, 1)));
        assert_eq!(said("if [ \"$GREETING\" = hello ]; then echo yes; else echo no; fi"), ["yes"]);
        assert_eq!(said("x=1; while [ $x -le 3 ]; do echo $x; x=$((x+1)); done"), ["1", "2", "3"]);
        assert_eq!(said("for a in b c; do printf '%s-' $a; done; echo; echo $(hostname)"), ["b-c-", "web-1"]);
    }

    #[test]
    fn programs_see_their_files_and_their_environment() {
        assert_eq!(said("cat /etc/config/a; ls /etc/config; hostname"), ["one", "two", "a", "web-1"]);
        assert_eq!(said("ls /data && [ -d /data ] && ! [ -f /data ] && echo empty; ls /"), ["empty", "data", "etc"]);
        assert!(said("env").contains(&"GREETING=hello".to_owned()));
        assert_eq!(
            script("cat /none"),
            (vec![(0, "cat: can't open '/none': No such file or directory".to_owned())], Some((0, 1)))
        );
    }

    #[test]
    fn a_world_in_which_no_process_can_start_ends_with_the_reason() {
        let now = coracle_meta::parse_time("2026-01-01T00:00:00Z").unwrap();
        let world = World { refusal: Some("argument list too long"), ..World::default() };
        for command in [serde_json::json!(["/server"]), serde_json::json!(["/server", "-c", "true"])] {
            let container = container(serde_json::json!({"name": "c", "image": "i", "command": command}));
            let transcript = transcript(&container, &world, now).unwrap();
            assert_eq!(transcript.lines[0].text, "exec /server: argument list too long");
            assert_eq!(transcript.end, Some((Duration::ZERO, 128)));
        }
    }

    #[test]
    fn commands_of_a_loop_share_a_large_environment() {
        let now = coracle_meta::parse_time("2026-01-01T00:00:00Z").unwrap();
        let environment = (0..20_000).map(|at| (format!("V{at}"), Arc::from("x".repeat(50)))).collect();
        let files = (0..50_000).map(|at| (format!("/etc/config/{at}"), Arc::from("x"))).collect();
        let world = World { environment, files, ..World::default() };
        let words = |text: &str| ["sh", "-c", text].map(str::to_owned);
        // Each of ten thousand rounds would copy 1 MB, or look at all files.
        let endless = run(&words("while true; do x=1; sh -c 'y=1'; done"), &world, now);
        assert_eq!(endless.end, None);
        assert_eq!(run(&words("while [ ! -d /none ]; do x=1; done"), &world, now).end, None);
        let kept = run(&words("x=1; y=2 sh -c 'x=3; echo $y'; echo $x$y"), &world, now);
        assert_eq!(kept.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["2", "1"]);
    }

    #[test]
    fn an_unknown_program_runs_for_ever() {
        assert_eq!(script("echo begin; nginx -g 'daemon off;'").1, None);
        assert_eq!(script("while true; do echo tick; sleep 1; done").1, None);
        assert_eq!(script("sleep infinity").1, None);
        assert_eq!(of(serde_json::json!({"name": "c", "image": "i", "command": ["/server"]})), None);
        assert_eq!(of(serde_json::json!({"name": "c", "image": "nginx"})), None);
    }

    #[test]
    fn an_unsupported_script_exits_with_2_and_an_error() {
        for text in ["echo a | cat", "echo a > /tmp/b", "sleep 1 &", "echo 'a", "if true; then echo", "f() { echo; }"] {
            let (lines, end) = script(text);
            assert_eq!(end, Some((0, 2)), "{text}");
            assert!(lines[0].1.starts_with("sh: "), "{lines:?}");
        }
    }

    #[test]
    fn a_shell_without_anything_to_do_ends_and_arguments_of_a_bare_image_are_its_command() {
        assert_eq!(of(serde_json::json!({"name": "c", "image": "busybox"})).unwrap().end, Some((Duration::ZERO, 0)));
        let sleeps = of(serde_json::json!({"name": "c", "image": "busybox:1.36", "args": ["sleep", "2"]})).unwrap();
        assert_eq!(sleeps.end, Some((Duration::from_secs(2), 0)));
        assert_eq!(of(serde_json::json!({"name": "c", "image": "nginx", "args": ["sleep", "2"]})), None);
    }

    proptest::proptest! {
        #[test]
        fn no_script_makes_the_shell_panic_or_run_for_long(text in "[ a-z$(){};&|<>'\"\\\\\n=0-9\\[\\]]{0,60}") {
            script(&text);
        }

        #[test]
        fn no_script_of_known_words_panics_or_runs_for_long(words in proptest::collection::vec(proptest::sample::select(vec![
            "while", "do", "done", "if", "then", "else", "fi", "for", "in", "x", "true", "false", ";", "&&", "||", "echo",
            "$x", "$((1+2))", "$(echo a)", "'a'", "\"b\"", "sleep", "1", "until", "!", "exit", "\n", "elif", "[", "]",
        ]), 0..30)) {
            script(&words.join(" "));
        }
    }
}
