use super::Stop;
use super::shell::Shell;

/// `[ ... ]`
pub(super) fn bracket(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    match arguments.split_last() {
        Some((last, arguments)) if last == "]" => run(shell, arguments),
        _ => {
            shell.complain("[: missing ]");
            Ok(2)
        }
    }
}

/// `test EXPRESSION`: texts, numbers, files; `!` before it.
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match holds(shell, &words) {
        Some(holds) => Ok(i32::from(!holds)),
        None => {
            shell.complain(&format!("test: cannot read '{}'", words.join(" ")));
            Ok(2)
        }
    }
}

fn holds(shell: &Shell<'_>, words: &[&str]) -> Option<bool> {
    let files = &shell.world.files;
    let is_folder = |path: &str| shell.world.is_folder(path);
    Some(match words {
        [] => false,
        ["!", rest @ ..] => !holds(shell, rest)?,
        [word] => !word.is_empty(),
        ["-z", word] => word.is_empty(),
        ["-n", word] => !word.is_empty(),
        ["-f", path] => files.contains_key(*path),
        ["-d", path] => is_folder(path),
        ["-e" | "-r", path] => files.contains_key(*path) || is_folder(path),
        ["-s", path] => files.get(*path).is_some_and(|text| !text.is_empty()),
        [one, "=" | "==", other] => one == other,
        [one, "!=", other] => one != other,
        [one, operator, other] => {
            let (one, other): (i64, i64) = (one.parse().ok()?, other.parse().ok()?);
            match *operator {
                "-eq" => one == other,
                "-ne" => one != other,
                "-lt" => one < other,
                "-le" => one <= other,
                "-gt" => one > other,
                "-ge" => one >= other,
                _ => return None,
            }
        }
        _ => return None,
    })
}
