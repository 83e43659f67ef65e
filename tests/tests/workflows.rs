//! The workflows of GitHub and the scripts that they run: what they may do, and that the scripts do what they say.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coracle_tests::{files_below, root};

/// The workflows and the actions of the repository.
fn workflows() -> Vec<PathBuf> {
    let mut files = files_below(&root().join(".github/workflows"), ".yml");
    files.extend(files_below(&root().join(".github/actions"), "action.yml"));
    assert!(files.len() >= 3, "{files:?}");
    files
}

#[test]
fn actions_of_others_are_pinned_by_commit_with_their_version() {
    let mut pinned = 0;
    for file in workflows() {
        let text = std::fs::read_to_string(&file).unwrap();
        let used = text.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("uses: "));
        for used in used.filter(|used| !used.starts_with("./")) {
            let (action, version) = used.split_once(" # v").unwrap_or_else(|| panic!("{used} has no version"));
            let commit = action.split_once('@').map_or("", |(_, commit)| commit);
            assert!(commit.len() == 40 && commit.bytes().all(|sign| sign.is_ascii_hexdigit()), "{used}");
            assert_eq!(version.split('.').count(), 3, "{used}");
            pinned += 1;
        }
    }
    assert!(pinned >= 10, "{pinned} actions");
}

#[test]
fn one_action_has_one_version_in_all_workflows() {
    let mut versions = std::collections::BTreeMap::new();
    for file in workflows() {
        let text = std::fs::read_to_string(&file).unwrap();
        for (action, commit) in text.lines().filter_map(|line| line.split_once("uses: ")?.1.split_once('@')) {
            let first = versions.entry(action.to_owned()).or_insert_with(|| commit.to_owned());
            assert_eq!(first, commit, "{action} in {}", file.display());
        }
    }
}

#[test]
fn a_workflow_has_no_right_but_to_read_and_its_runs_of_one_branch_do_not_overlap() {
    for file in files_below(&root().join(".github/workflows"), ".yml") {
        let text = std::fs::read_to_string(&file).unwrap();
        let rights = text.split("\npermissions:").nth(1).unwrap_or_else(|| panic!("{}", file.display()));
        let first = rights.split("\n\n").next().unwrap();
        assert!(matches!(first, " {}" | "\n  contents: read"), "{}: {first}", file.display());
        assert!(text.contains("\nconcurrency:\n"), "{} has no concurrency group", file.display());
        for line in text.lines().filter(|line| line.trim_start().starts_with("run:")) {
            // What a contributor may choose gets to a shell as an environment variable, never as a part of the script.
            assert!(!line.contains("${{"), "{}: {line}", file.display());
        }
    }
}

/// A folder that is removed in the end.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs a script of the repository.
fn run(script: &str, arguments: &[&str]) -> Output {
    Command::new(root().join(script)).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_notes_of_a_release_are_the_section_of_its_version() {
    let folder = folder();
    let (changelog, manifest) = (folder.path().join("CHANGELOG.md"), folder.path().join("Cargo.toml"));
    let sections = "# Changelog\n\n## Unreleased\n\n- next\n\n## 1.2.0 - 2026-01-02\n\n### Added\n\n- a\n\n## 1.1.0\n\n## 1.0.0\n\n- b\n";
    std::fs::write(&changelog, sections).unwrap();
    let notes = |version: &str, built: &str| {
        let table = format!("[workspace.package]\nversion = \"{built}\"\n\n[workspace.dependencies]\na = \"9\"\n");
        std::fs::write(&manifest, table).unwrap();
        let output = run(".ci/release-notes", &[version, path(&changelog), path(&manifest)]);
        (output.status.success(), text(&output))
    };
    assert_eq!(notes("v1.2.0", "1.2.0"), (true, "### Added\n\n- a\n".to_owned()));
    assert_eq!(notes("1.0.0", "1.0.0"), (true, "- b\n".to_owned()));
    let (succeeded, said) = notes("v1.1.0", "1.1.0");
    assert!(!succeeded && said.contains("has no section \"## 1.1.0\" with text"), "{said}");
    let (succeeded, said) = notes("v1.3.0", "1.3.0");
    assert!(!succeeded && said.contains("has no section \"## 1.3.0\""), "{said}");
    let (succeeded, said) = notes("v1.2.0", "1.3.0");
    assert!(!succeeded && said.contains("has version 1.3.0, not 1.2.0"), "{said}");
}

/// The target of the machine that runs the tests, as in the names of archives.
fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

/// What `make dist` leaves: an archive with a program that prints `said`, and the list of checksums.
fn built(folder: &Path, target: &str, said: &str) -> String {
    let name = format!("coracle-1.2.0-{target}");
    let inside = folder.join("unpacked").join(&name);
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("coracle"), format!("#!/bin/sh\necho {said}\n")).unwrap();
    let archive = format!("{name}.tar.gz");
    let script = "chmod 755 unpacked/*/coracle && tar -czf $0 -C unpacked $1 && rm -r unpacked
        { sha256sum $0 2>/dev/null || shasum -a 256 $0; } > SHA256SUMS";
    let made = Command::new("sh").args(["-c", script, &archive, &name]).current_dir(folder).status().unwrap();
    assert!(made.success());
    archive
}

#[test]
fn the_action_installs_a_program_with_the_right_checksum_only() {
    let folder = folder();
    let release = folder.path().join("release");
    std::fs::create_dir_all(&release).unwrap();
    let archive = built(&release, &target(), "hello");
    let url = format!("file://{}", path(&release));
    let home = folder.path().join("home");
    let install = |version: &str| {
        let output = run(".github/actions/setup-coracle/install", &[version, &url, path(&home)]);
        (output.status.success(), text(&output))
    };
    let (succeeded, said) = install("1.2.0");
    assert!(succeeded, "{said}");
    let output = Command::new(home.join("bin/coracle")).output().unwrap();
    assert_eq!(text(&output), "hello\n");
    // What is in the cache is verified, too, and is then downloaded again.
    std::fs::write(home.join("download").join(&archive), "changed").unwrap();
    let (succeeded, said) = install("1.2.0");
    assert!(!succeeded && said.contains("the checksum of"), "{said}");
    let (succeeded, said) = install("1.2.0");
    assert!(succeeded, "{said}");
    let (succeeded, said) = install("1.3.0");
    assert!(!succeeded && said.contains("the release has no coracle-1.3.0-"), "{said}");
    std::fs::remove_file(release.join("SHA256SUMS")).unwrap();
    let (succeeded, said) = install("1.2.0");
    assert!(!succeeded && said.contains("cannot download"), "{said}");
}

#[test]
fn the_archives_of_all_builds_are_gathered_with_one_list_of_checksums() {
    let folder = folder();
    let builds = ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"].map(|target| {
        let build = folder.path().join(target);
        std::fs::create_dir_all(&build).unwrap();
        built(&build, target, "hello");
        build
    });
    let assets = folder.path().join("assets");
    let gather = || run(".ci/gather", &[path(&builds[0]), path(&builds[1]), path(&assets)]);
    let output = gather();
    assert!(output.status.success(), "{}", text(&output));
    let sums = std::fs::read_to_string(assets.join("SHA256SUMS")).unwrap();
    assert!(sums.lines().count() == 2 && sums.contains("coracle-1.2.0-aarch64-apple-darwin.tar.gz"), "{sums}");
    std::fs::write(builds[1].join("coracle-1.2.0-aarch64-apple-darwin.tar.gz"), "changed").unwrap();
    assert!(!gather().status.success(), "a changed archive was taken");
}

#[test]
fn a_wheel_installs_the_program_of_the_archive() {
    let has_pip = Command::new("python3").args(["-m", "pip", "--version"]).output();
    if !has_pip.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: no python3 with pip on this machine");
        return;
    }
    let folder = folder();
    let assets = folder.path().join("assets");
    std::fs::create_dir_all(&assets).unwrap();
    built(&assets, &target(), "hello");
    let (wheels, prefix) = (folder.path().join("wheels"), folder.path().join("prefix"));
    let output = run(".ci/wheel", &[path(&assets), path(&wheels)]);
    assert!(output.status.success(), "{}", text(&output));
    let wheel = text(&output).trim().to_owned();
    let first = std::fs::read(&wheel).unwrap();
    run(".ci/wheel", &[path(&assets), path(&wheels)]);
    assert!(first == std::fs::read(&wheel).unwrap(), "two wheels of one archive differ");
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--prefix", path(&prefix), &wheel];
    let output = Command::new("python3").args(pip).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    // Debian's Python installs into `local/bin` of the prefix.
    let installed = files_below(&prefix, "/bin/coracle");
    let output = Command::new(&installed[0]).output().unwrap();
    assert_eq!(text(&output), "hello\n");
    let output = run(".ci/wheel", &[path(folder.path()), path(&wheels)]);
    assert!(
        !output.status.success() && text(&output).contains("no coracle-VERSION-TARGET.tar.gz"),
        "{}",
        text(&output)
    );
}
