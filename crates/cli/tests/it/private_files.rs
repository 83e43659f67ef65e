//! Files with keys, objects and events are for their owner alone, whatever was there before.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::program::{Folder, Running, coracle, eventually, text};

const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n";

/// The program with the mask of files that most systems have, by which others may read what is new.
fn with_usual_mask(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 022; exec \"$@\"", "sh"]).arg(coracle().get_program()).args(arguments);
    command.current_dir(folder).env_remove("CORACLE_STATE_DIR");
    command
}

/// The files below a folder that others may read, without those that a folder on the way keeps from them.
fn readable_for_others(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut found = Vec::new();
    for entry in entries.filter(|entry| entry.path().symlink_metadata().unwrap().mode() & 0o055 != 0) {
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => found.extend(readable_for_others(&entry.path()).iter().map(|below| format!("{name}/{below}"))),
            false => found.push(name),
        }
    }
    found.sort();
    found
}

fn wait_for(file: &Path) {
    eventually("the file is there", || file.exists().then_some(()));
}

#[test]
fn a_cluster_in_a_folder_that_others_may_read_keeps_its_files_from_them() {
    let home = Folder::new("private-up");
    let state = home.join("st");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(home.join("policy.yaml"), POLICY).unwrap();
    let precious = home.join("precious");
    fs::write(&precious, "kept").unwrap();
    symlink(&precious, state.join("kubeconfig")).unwrap();
    let flags = ["--nodes=0", "--audit-policy-file=policy.yaml", "--audit-log-path=audit.log", "--events=e.jsonl"];
    let arguments = [&["up", "--state-dir", "st", "--secure-port=0"], &flags[..]].concat();
    let _up = Running::start_into(&mut with_usual_mask(home.path(), &arguments), &home.join("said"));
    eventually("the cluster greets", || {
        fs::read_to_string(home.join("said")).ok()?.contains("get pods -w").then_some(())
    });
    let readable = readable_for_others(home.path());
    assert!(home.join("audit.log").exists() && home.join("e.jsonl").exists() && state.join("data/log").exists());
    let harmless = ["policy.yaml", "precious", "said", "st/.gitignore", "st/lock", "st/notes", "st/pid"];
    assert!(readable.iter().all(|file| harmless.contains(&file.as_str())), "{readable:?}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "kept", "a link is not followed");
    assert!(!state.join("kubeconfig").is_symlink());
}

#[test]
fn stores_of_their_own_are_for_their_owner_alone() {
    let home = Folder::new("private-stores");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let server = ["apiserver", "--store", "sled:as/data", "--cert-dir", "as/pki", "--secure-port", "0"];
    let store = ["store", "--data-dir", "sd", "--listen-client-urls", "http://127.0.0.1:0"];
    let _server = Running::start(&mut with_usual_mask(home.path(), &server));
    let _store = Running::start(&mut with_usual_mask(home.path(), &store));
    wait_for(&home.join("as/data/FORMAT"));
    wait_for(&home.join("sd/FORMAT"));
    wait_for(&home.join("as/pki/admin.kubeconfig"));
    let readable = readable_for_others(home.path());
    assert!(readable.iter().all(|file| file.ends_with(".crt") || file.ends_with(".gitignore")), "{readable:?}");
}

#[test]
fn a_state_folder_of_another_user_in_a_shared_place_is_refused() {
    let home = Folder::new("private-foreign");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let state = home.join("st");
    fs::create_dir(&state).unwrap();
    if std::os::unix::fs::chown(&state, Some(65534), None).is_err() {
        println!("SKIPPED: only root can give a folder to another user");
        return;
    }
    let refused = with_usual_mask(home.path(), &["up", "--state-dir", "st", "--nodes=0"]).output().unwrap();
    assert!(text(&refused).contains("the state folder st belongs to the user 65534"), "{}", text(&refused));
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "nothing is written into it");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let taken = with_usual_mask(home.path(), &["down", "--state-dir", "st"]).output().unwrap();
    assert!(!text(&taken).contains("belongs to the user"), "{}", text(&taken));
}
