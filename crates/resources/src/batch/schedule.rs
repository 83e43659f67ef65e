//! Whether a cron schedule can be read, with the sentences of the parser that Kubernetes uses.
//! In Kubernetes: `robfig/cron`, `ParseStandard`.

const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// What is wrong with a schedule.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut schedule = schedule;
    if let Some(rest) = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        schedule = rest.split_once(' ').map_or("", |(_, rest)| rest.trim());
    }
    if let Some(descriptor) = schedule.strip_prefix('@') {
        return check_descriptor(descriptor, schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, (low, high, names)) in fields.iter().zip(FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, low, high, names)?;
        }
    }
    Ok(())
}

fn check_descriptor(descriptor: &str, whole: &str) -> Result<(), String> {
    match descriptor {
        "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => Ok(()),
        _ if descriptor.starts_with("every ") => Ok(()),
        _ => Err(format!("unrecognized descriptor: {whole}")),
    }
}

/// `*`, a number, `low-high`, each with `/step`.
fn check_range(range: &str, low: u32, high: u32, names: &[&str]) -> Result<(), String> {
    let mut parts = range.split('/');
    let span = parts.next().unwrap_or_default();
    let step = parts.next();
    if parts.next().is_some() {
        return Err(format!("too many slashes: {range}"));
    }
    let number = |text: &str| -> Result<u32, String> {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        match named {
            // The first name stands for the lowest number.
            Some(at) => Ok(low + u32::try_from(at).unwrap_or(0)),
            None => parse(text),
        }
    };
    let ends: Vec<&str> = span.split('-').collect();
    let (start, end) = match ends[..] {
        ["*" | "?", ..] => (low, high),
        [one] => {
            let start = number(one)?;
            (start, if step.is_some() { high } else { start })
        }
        [from, to] => (number(from)?, number(to)?),
        _ => return Err(format!("too many hyphens: {range}")),
    };
    let step = step.map_or(Ok(1), parse)?;
    if start < low {
        return Err(format!("beginning of range ({start}) below minimum ({low}): {range}"));
    }
    if end > high {
        return Err(format!("end of range ({end}) above maximum ({high}): {range}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

fn parse(text: &str) -> Result<u32, String> {
    let number: i64 = text
        .parse()
        .map_err(|_| format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))?;
    u32::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_are_read() {
        for schedule in ["* * * * *", "*/5 0-6 1,15 jan-mar mon", "@hourly", "TZ=UTC 0 0 * * 0", "0 0 1 1 ?"] {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(check("every day").unwrap_err(), "expected exactly 5 fields, found 2: [every day]");
        assert_eq!(check("60 * * * *").unwrap_err(), "end of range (60) above maximum (59): 60");
        assert_eq!(check("* * 0 * *").unwrap_err(), "beginning of range (0) below minimum (1): 0");
        assert_eq!(check("5-2 * * * *").unwrap_err(), "beginning of range (5) beyond end of range (2): 5-2");
        assert_eq!(check("@never").unwrap_err(), "unrecognized descriptor: @never");
    }
}
