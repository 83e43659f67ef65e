use std::collections::BTreeSet;

use super::Stop;
use super::shell::Shell;

/// `ls [PATH...]`: the names in a folder, or the file itself.
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    let mut paths: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    if paths.is_empty() {
        paths.push("/");
    }
    let mut code = 0;
    for path in paths {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let files = &shell.world.files;
        let mut count = 0;
        let within = shell.world.within(&folder).inspect(|_| count += 1);
        let names: BTreeSet<&str> = within.filter_map(|rest| rest.split('/').next()).collect();
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        shell.spend(count);
        if names.is_empty() && files.contains_key(path) {
            names.push(path.to_owned());
        }
        if names.is_empty() && !shell.world.is_folder(path) {
            shell.complain(&format!("ls: {path}: No such file or directory"));
            code = 1;
        }
        for name in names {
            shell.say(&name);
        }
    }
    Ok(code)
}
