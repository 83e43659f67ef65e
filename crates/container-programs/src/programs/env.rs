use super::Stop;
use super::shell::Shell;

/// `env`: all variables, a line each.
pub(super) fn run(shell: &mut Shell<'_>, _: &[String]) -> Result<i32, Stop> {
    let lines: Vec<String> = shell.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    for line in lines {
        shell.say(&line);
    }
    Ok(0)
}
