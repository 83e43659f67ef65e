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
    strsim::levenshtein(&one.to_lowercase(), &other.to_lowercase())
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
