/// The error for a word that is not among the valid words of a `what`; `None` if it is valid.
pub fn unknown_word(found: &str, valid: &[&str], what: &str) -> Option<String> {
    if valid.contains(&found) {
        return None;
    }
    let expected =
        if valid.is_empty() { "no value is valid".to_owned() } else { format!("expected one of {}", valid.join(", ")) };
    Some(format!("unknown {what} `{found}`, {expected}{}", did_you_mean(found, valid.iter().copied())))
}

/// The end of an error message: a suggestion, if a candidate is similar enough.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// The candidate with the smallest edit distance, if it is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let length = lower.chars().count();
    let distance = |candidate: &str| {
        let (candidate, most) = (candidate.to_lowercase(), candidate.len().max(3) / 3);
        // Each difference in length is an edit.
        if candidate.chars().count().abs_diff(length) > most {
            return None;
        }
        Some(strsim::osa_distance(&lower, &candidate)).filter(|distance| *distance <= most)
    };
    candidates.filter_map(|candidate| Some((distance(candidate)?, candidate))).min().map(|(_, candidate)| candidate)
}
