use super::Stop;
use super::shell::Shell;

/// `cat [FILE...]`; without a file it reads standard input, which never ends in a container.
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    if arguments.is_empty() {
        return Err(Stop::Forever);
    }
    let mut code = 0;
    for path in arguments {
        match shell.world.files.get(path.as_str()) {
            Some(text) => shell.print(text),
            None if shell.world.is_folder(path) => {
                shell.complain("cat: read error: Is a directory");
                code = 1;
            }
            None => {
                shell.complain(&format!("cat: can't open '{path}': No such file or directory"));
                code = 1;
            }
        }
    }
    Ok(code)
}
