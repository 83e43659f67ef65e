//! Names that are similar to a misspelt one.
//!
//! In Kubernetes: `cobra.Command.SuggestionsFor`.

/// The names within a distance of two, or that begin with the word.
pub(crate) fn suggestions(word: &str, names: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let begins = name.to_lowercase().starts_with(&word.to_lowercase());
        if (begins || distance(word, name) <= 2) && !found.iter().any(|known| known == name) {
            found.push((*name).to_owned());
        }
    }
    found
}

/// The Levenshtein distance, without regard to case.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) =
        (one.to_lowercase().chars().collect(), other.to_lowercase().chars().collect());
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, sign) in one.iter().enumerate() {
        let mut diagonal = index;
        row[0] = index + 1;
        for (at, known) in other.iter().enumerate() {
            let changed = diagonal + usize::from(sign != known);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        assert_eq!(suggestions("creat", &["create", "get", "create"]), ["create"]);
        assert_eq!(suggestions("foo", &["top", "get"]), ["top"]);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
