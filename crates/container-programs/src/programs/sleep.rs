use std::time::Duration;

use super::Stop;
use super::shell::Shell;

/// `sleep TIME...`: seconds, or with `s`, `m`, `h`, `d`; `infinity`.
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    for word in arguments {
        if matches!(word.as_str(), "infinity" | "inf") {
            return Err(Stop::Forever);
        }
        let Some(time) = time(word) else {
            shell.complain(&format!("sleep: invalid number '{word}'"));
            return Ok(1);
        };
        shell.pass(time);
    }
    Ok(0)
}

fn time(word: &str) -> Option<Duration> {
    let (number, unit) = match word.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &word[number.len()..]),
        None => (word, "s"),
    };
    let seconds = match unit {
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => 1.0,
    };
    let number: f64 = number.parse().ok().filter(|number: &f64| *number >= 0.0)?;
    // A time that cannot be represented becomes the longest time.
    Some(Duration::try_from_secs_f64(number * seconds).unwrap_or(Duration::MAX))
}
