//! The lists of indexes in the status of a Job: `1,3-5,7`. In Kubernetes: `validateIndexesFormat`.

use coracle_meta::go_quote;

/// The errors of a list of indexes below `completions`.
pub(super) fn wrong_intervals(text: &str, completions: i64) -> Result<(), String> {
    let mut last: Option<i64> = None;
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = interval_of(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(not_increasing(last, first));
        }
        last = Some(end);
    }
    Ok(())
}

/// The first index in both lists; invalid parts are ignored.
/// In Kubernetes: `validateFailedIndexesNotOverlapCompleted`.
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|interval| interval_of(interval, completions).ok()).collect()
    };
    let (completed, failed) = (intervals(completed), intervals(failed));
    let (mut left, mut right) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some((first, end)), Some((other, other_end))) = (left.peek(), right.peek()) {
        if first <= other_end && other <= end {
            return Some(*first.max(other));
        }
        if first <= other {
            left.next()
        } else {
            right.next()
        };
    }
    None
}

fn interval_of(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let limits: Vec<&str> = text.split('-').collect();
    let index = |text: &str| {
        let number: i64 =
            text.parse().map_err(|_| format!("cannot convert string to integer for index: {}", go_quote(text)))?;
        if number >= completions { Err(format!("too large index: {}", go_quote(text))) } else { Ok(number) }
    };
    match limits[..] {
        [only] => index(only).map(|only| (only, only)),
        [first, end] => {
            let (first, end) = (index(first)?, index(end)?);
            if first >= end { Err(not_increasing(first, end)) } else { Ok((first, end)) }
        }
        _ => {
            let fragment = go_quote(text);
            Err(format!(
                "the fragment {fragment} violates the requirement that an index interval can have at most two parts separated by '-'"
            ))
        }
    }
}

fn not_increasing(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_ascending() {
        assert_eq!(wrong_intervals("", 5), Ok(()));
        assert_eq!(wrong_intervals("0,2-4", 5), Ok(()));
        for (text, expected) in [
            ("a", "cannot convert string to integer for index: \"a\""),
            ("5", "too large index: \"5\""),
            ("1,1", "non-increasing order, previous: 1, current: 1"),
            ("3-2", "non-increasing order, previous: 3, current: 2"),
            ("1,", "cannot convert string to integer for index: \"\""),
        ] {
            assert_eq!(wrong_intervals(text, 5), Err(expected.to_owned()), "{text}");
        }
        assert!(wrong_intervals("1-2-3", 5).unwrap_err().starts_with("the fragment \"1-2-3\" violates"));
    }

    #[test]
    fn an_index_ends_in_one_way() {
        assert_eq!(overlap("0,2-4", "1,5", 9), None);
        assert_eq!(overlap("0,x,2-4", "1,3-5", 9), Some(3));
        assert_eq!(overlap("", "1", 9), None);
    }
}
