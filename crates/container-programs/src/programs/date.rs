use super::Stop;
use super::shell::Shell;

/// `date [+FORMAT]`, in UTC.
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    let format = arguments.iter().find_map(|word| word.strip_prefix('+')).unwrap_or("%a %b %e %H:%M:%S UTC %Y");
    let now = shell.now().to_zoned(jiff::tz::TimeZone::UTC);
    match jiff::fmt::strtime::format(format, &now) {
        Ok(text) => Ok(shell.say(&text)),
        Err(_) => {
            shell.complain(&format!("date: invalid format '{format}'"));
            Ok(1)
        }
    }
}
