//! `docs/flags.md`, made from the commands and the rows of unused flags. `CORACLE_WRITE_DOCUMENTS=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::commands::KubeApiserver;
use crate::flags::api_server_unused::ApiServerUnused;
use crate::flags::controller_manager_unused::ControllerManagerUnused;
use crate::flags::etcd_unused::EtcdUnused;
use crate::flags::scheduler_unused::SchedulerUnused;
use crate::flags::unused::{Effect, UnusedFlag, UnusedFlags};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/flags.md");

const INTRODUCTION: &str = "\
<!-- written by crates/cli/src/flag_document.rs -->

# Flags

This page lists the flags of the programs that replace kube-apiserver, kube-controller-manager, kube-scheduler, the
kubelet and etcd. A program obeys a flag, or starts and prints a note that the flag has no effect, or refuses to start
and says why. `--help` lists the flags that a program accepts. `-h` lists only those without a group.

- `--flag VALUE` and `--flag=VALUE` are the same. A flag that takes `BOOL` may stand alone for `true`.
- Underscores in the name of a flag are dashes: `--watch_cache` is `--watch-cache`.
- Durations have Go's syntax: `90s`, `1m30s`, `500ms`.
- An unknown flag ends a command of `coracle` with exit code 2. Under the names `kube-apiserver` and `etcd`, the program
  prints a note and ignores it.
";

/// A program in the document.
struct Program {
    title: &'static str,
    about: &'static str,
    command: Command,
    unused: Vec<&'static UnusedFlag>,
}

fn programs() -> Vec<Program> {
    let mut all = crate::Arguments::command();
    all.build();
    let command = |name: &str| all.find_subcommand(name).cloned().unwrap();
    let mut kube_apiserver = KubeApiserver::command();
    kube_apiserver.build();
    let program = |title, about, command, unused| Program { title, about, command, unused };
    vec![
        program(
            "kube-apiserver",
            "The program under the name `kube-apiserver`, as test environments start it.",
            kube_apiserver,
            ApiServerUnused::rows().collect(),
        ),
        program("coracle apiserver", LIKE_KUBE_APISERVER, command("apiserver"), Vec::new()),
        program("coracle up", LIKE_KUBE_APISERVER, command("up"), Vec::new()),
        program(
            "coracle controller-manager",
            "`coracle up --kube-controller-manager-arg NAME=VALUE` accepts the same flags, without `--kubeconfig`,\n\
             `--metrics` and leader election.",
            command("controller-manager"),
            ControllerManagerUnused::rows().collect(),
        ),
        program("coracle scheduler", "", command("scheduler"), SchedulerUnused::rows().collect()),
        program(
            "coracle kubelet",
            "Simulated nodes. Other flags of the kubelet are unknown.",
            command("kubelet"),
            Vec::new(),
        ),
        program(
            "coracle store",
            "The program under the name `etcd` has the same flags.",
            command("store"),
            EtcdUnused::rows().collect(),
        ),
    ]
}

const LIKE_KUBE_APISERVER: &str = "The flags of [kube-apiserver](#kube-apiserver), with these differences:";

/// A row of the table of obeyed flags.
#[derive(Clone, PartialEq, Eq)]
struct Row {
    group: String,
    name: String,
    value: String,
    default: String,
    about: String,
}

fn row(arg: &Arg) -> Option<Row> {
    let name = arg.get_long().filter(|name| !["help", "version"].contains(name))?;
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let is_shown = !is_switch && !arg.is_hide_default_value_set();
    Some(Row {
        group: arg.get_help_heading().unwrap_or_default().to_owned(),
        name: name.to_owned(),
        value: if is_switch { String::new() } else { value_name(arg) },
        default: if is_shown { defaults.join(",") } else { String::new() },
        about: arg.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|"),
    })
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The flags that a program obeys, in groups.
fn obeyed(program: &Program, unused: &[&UnusedFlag]) -> Vec<Row> {
    let is_unused = |row: &Row| unused.iter().any(|flag| flag.name == row.name);
    let rows = program.command.get_arguments().filter_map(row).filter(|row| !is_unused(row));
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(group, _)| *group == row.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((row.group.clone(), vec![row])),
        }
    }
    groups.into_iter().flat_map(|(_, rows)| rows).collect()
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

fn obeyed_table(text: &mut String, rows: &[Row]) {
    let _ = writeln!(text, "\n| flag | value | default | meaning |\n|---|---|---|---|");
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = &row.group;
            let _ = writeln!(text, "| **{group}** | | | |");
        }
        let (name, value, default) = (format!("--{}", row.name), code(&row.value), code(&row.default));
        let _ = writeln!(text, "| `{name}` | {value} | {default} | {} |", row.about);
    }
}

fn unused_table(text: &mut String, flags: &[&UnusedFlag]) {
    let _ = writeln!(text, "\n| flag | value | effect | because |\n|---|---|---|---|");
    let of_effect = |effect: Effect| flags.iter().filter(move |flag| flag.effect == effect);
    for flag in of_effect(Effect::ChangesNothing).chain(of_effect(Effect::Refused)) {
        let effect = match (flag.effect, flag.anyway) {
            (Effect::ChangesNothing, _) => "none".to_owned(),
            (Effect::Refused, None) => "refused".to_owned(),
            (Effect::Refused, Some(value)) => format!("refused, except `{value}`"),
        };
        let _ = writeln!(text, "| `--{}` | {} | {effect} | {} |", flag.name, code(flag.value), flag.because);
    }
}

/// The whole document.
fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    let programs = programs();
    let (kube_apiserver, api_server_unused) = (&programs[0], &programs[0].unused);
    let common = obeyed(kube_apiserver, api_server_unused);
    for program in &programs {
        let is_like_kube_apiserver = program.about == LIKE_KUBE_APISERVER;
        let _ = write!(text, "\n## {}\n", program.title);
        if !program.about.is_empty() {
            let _ = write!(text, "\n{}\n", program.about);
        }
        if is_like_kube_apiserver {
            let all = obeyed(program, api_server_unused);
            let own: Vec<Row> = all.iter().filter(|row| !common.contains(row)).cloned().collect();
            let is_there = |row: &&Row| all.iter().any(|other| other.name == row.name);
            let missing: Vec<String> =
                common.iter().filter(|row| !is_there(row)).map(|row| format!("`--{}`", row.name)).collect();
            obeyed_table(&mut text, &own);
            let _ = write!(text, "\nIt does not have these flags:\n\n");
            for name in missing {
                let _ = writeln!(text, "- {name}");
            }
        } else {
            obeyed_table(&mut text, &obeyed(program, &program.unused));
        }
        if !program.unused.is_empty() {
            let _ = write!(text, "\nFlags that {} does not obey:\n", program.title);
            unused_table(&mut text, &program.unused);
        }
    }
    text
}

#[test]
fn the_document_is_what_the_programs_accept() {
    let wanted = document();
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(PATH, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(found == wanted, "docs/flags.md differs from the flags: run this test with CORACLE_WRITE_DOCUMENTS=1");
}

#[test]
fn the_short_help_shows_no_flag_with_a_heading_and_the_long_help_shows_every_accepted_flag() {
    let help = |option: &str, name: &str| {
        let command = crate::program();
        command.try_get_matches_from(["coracle", name, option]).unwrap_err().to_string()
    };
    for program in ["up", "apiserver", "controller-manager", "scheduler"] {
        let (short, long) = (help("-h", program), help("--help", program));
        assert!(short.lines().count() < 44, "{short}");
        let command = crate::program();
        let command = command.find_subcommand(program).unwrap();
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let flag = format!("--{}", arg.get_long().unwrap());
            let is_of_flag = |line: &str| {
                let line = line.trim_start();
                // A flag with a short form begins with it: `-d, --detach`.
                let long = line.split_once(", ").filter(|(short, _)| short.len() == 2).map_or(line, |(_, long)| long);
                let rest = long.strip_prefix(&flag);
                rest.is_some_and(|rest| !rest.starts_with(|sign: char| sign == '-' || sign.is_alphanumeric()))
            };
            let shows = |help: &str| help.lines().any(is_of_flag);
            assert!(shows(&long), "{program}: {flag} is missing");
            assert_eq!(shows(&short), arg.get_help_heading().is_none(), "{program}: {flag}");
        }
    }
}

/// The flags of kube-apiserver 1.35.3, as its own options name them.
const ALL: &str = include_str!("flags/kube_apiserver_flags.txt");

fn own() -> BTreeSet<String> {
    let mut command = KubeApiserver::command();
    command.build();
    let names = command.get_arguments().flat_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long().into_iter().chain(aliases).map(str::to_owned).collect::<Vec<_>>()
    });
    names.collect()
}

#[test]
fn every_flag_of_kube_apiserver_is_obeyed_or_changes_nothing_or_is_refused() {
    let own = own();
    let missing: Vec<&str> = ALL.lines().filter(|name| !own.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(ALL.lines().count(), 174);
}

#[test]
fn every_row_is_a_flag_of_kube_apiserver() {
    let all: BTreeSet<&str> = ALL.lines().collect();
    assert!(ApiServerUnused::rows().all(|flag| all.contains(flag.name)));
    let ours: Vec<String> = own().into_iter().filter(|name| !all.contains(name.as_str())).collect();
    assert_eq!(ours, ["kubernetes", "service-address"]);
}
