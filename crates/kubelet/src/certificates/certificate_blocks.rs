use pem::{EncodeConfig, LineEnding, Pem};

/// The contents of the PEM blocks in a text, in their order. What is between them is dropped.
pub(crate) fn blocks_of(text: &str) -> Vec<Vec<u8>> {
    pem::parse_many(text).unwrap_or_default().into_iter().map(Pem::into_contents).collect()
}

/// Certificates in PEM.
pub(crate) fn certificates(blocks: impl IntoIterator<Item = Vec<u8>>) -> String {
    let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
    blocks.into_iter().map(|block| pem::encode_config(&Pem::new("CERTIFICATE", block), lines)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_between_certificates_is_dropped() {
        let (one, other) = (certificates([vec![1]]), certificates([vec![2]]));
        let text = format!("first\n{one}second\n{other}end\n");
        assert_eq!(blocks_of(&text), [vec![1], vec![2]]);
        assert_eq!(certificates(blocks_of(&text)), format!("{one}{other}"));
    }
}
