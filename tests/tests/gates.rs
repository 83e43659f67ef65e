//! The feature gates that have an effect are those about which the code asks.

use std::collections::BTreeSet;
use std::path::Path;

use coracle::cluster::Release;

const FILE: &str = "crates/release/data/effective-gates.txt";

/// The gates whose names stand as a text in the code of a crate, without those of the data of releases.
fn asked() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut code = String::new();
    for krate in std::fs::read_dir(root.join("crates")).unwrap() {
        let krate = krate.unwrap();
        if krate.file_name() != "release" {
            read(&krate.path().join("src"), &mut code);
        }
    }
    let gates: BTreeSet<&str> =
        Release::all().flat_map(|release| release.gates().map(|(gate, _)| gate).collect::<Vec<_>>()).collect();
    let texts: BTreeSet<&str> = code.split('"').collect();
    gates.into_iter().filter(|gate| texts.contains(gate)).map(str::to_owned).collect()
}

/// The code in a folder, without the tests.
fn read(folder: &Path, code: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            code.push_str(text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text));
        }
    }
}

#[test]
fn the_gates_that_have_an_effect_are_those_about_which_the_code_asks() {
    let text: String = asked().iter().map(|gate| format!("{gate}\n")).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE);
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "write {FILE} with CORACLE_WRITE_DOCUMENTS=1");
    assert!(Release::has_effect("MutatingAdmissionPolicy") && !Release::has_effect("MemoryQoS"));
}
