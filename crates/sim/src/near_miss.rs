use std::fmt::Display;

/// How many of `what` matched, in a report of what waits for the nth.
pub(crate) fn matched(what: &str, count: u64, nth: u64) -> String {
    match count {
        0 => format!("no {what} matched"),
        1 => format!("1 {what} matched, and it waits for number {nth}"),
        many => format!("{many} {what}s matched, and it waits for number {nth}"),
    }
}

/// How many matched nearly, and the last of them.
pub(crate) fn nearly(count: u64, last: impl Display) -> String {
    format!("{count} matched in all fields but one, the last of them: {last}")
}
