//! `coracle new` writes a scenario that passes.

use crate::program::{Folder, coracle, succeed, text};

#[test]
fn a_new_scenario_has_the_name_of_its_file_and_passes_and_is_not_overwritten() {
    let folder = Folder::new("new");
    let new = |file: &str| coracle().args(["new", file]).current_dir(folder.path()).output().unwrap();
    let said = new("first-try.yaml");
    assert!(said.status.success() && text(&said).contains("next: coracle run first-try.yaml"), "{}", text(&said));
    let passed = succeed(coracle().args(["run", "--strict", "first-try.yaml"]).current_dir(folder.path()));
    assert!(passed.contains(" PASS  first-try "), "{passed}");
    let again = new("first-try.yaml");
    assert!(again.status.code() == Some(2) && text(&again).contains("is not overwritten"), "{}", text(&again));
    for wrong in ["First.yaml", "a.txt", "-a.yaml", "a b.yaml", "a"] {
        let refused = coracle().args(["new", "--", wrong]).current_dir(folder.path()).output().unwrap();
        let said = text(&refused);
        assert!(refused.status.code() == Some(2) && said.contains("the name of a scenario file is"), "{wrong}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else was written");
}
