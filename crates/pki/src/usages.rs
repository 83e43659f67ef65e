use rcgen::{ExtendedKeyUsagePurpose, KeyUsagePurpose};

/// What a certificate is for, by the words of the API.
pub(crate) fn usages(words: &[String]) -> Result<(Vec<KeyUsagePurpose>, Vec<ExtendedKeyUsagePurpose>), String> {
    use ExtendedKeyUsagePurpose as For;
    let (mut key, mut purposes, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for word in words {
        let purpose = match word.as_str() {
            "signing" | "digital signature" => Ok(KeyUsagePurpose::DigitalSignature),
            "content commitment" => Ok(KeyUsagePurpose::ContentCommitment),
            "key encipherment" => Ok(KeyUsagePurpose::KeyEncipherment),
            "key agreement" => Ok(KeyUsagePurpose::KeyAgreement),
            "data encipherment" => Ok(KeyUsagePurpose::DataEncipherment),
            "cert sign" => Ok(KeyUsagePurpose::KeyCertSign),
            "crl sign" => Ok(KeyUsagePurpose::CrlSign),
            "encipher only" => Ok(KeyUsagePurpose::EncipherOnly),
            "decipher only" => Ok(KeyUsagePurpose::DecipherOnly),
            "any" => Err(For::Any),
            "server auth" => Err(For::ServerAuth),
            "client auth" => Err(For::ClientAuth),
            "code signing" => Err(For::CodeSigning),
            "email protection" | "s/mime" => Err(For::EmailProtection),
            "ipsec end system" => Err(For::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 5])),
            "ipsec tunnel" => Err(For::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 6])),
            "ipsec user" => Err(For::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 7])),
            "timestamping" => Err(For::TimeStamping),
            "ocsp signing" => Err(For::OcspSigning),
            "microsoft sgc" => Err(For::Other(vec![1, 3, 6, 1, 4, 1, 311, 10, 3, 3])),
            "netscape sgc" => Err(For::Other(vec![2, 16, 840, 1, 113_730, 4, 1])),
            other => {
                unknown.push(format!("{other:?}"));
                continue;
            }
        };
        match purpose {
            Ok(use_of_key) if !key.contains(&use_of_key) => key.push(use_of_key),
            Err(purpose) if !purposes.contains(&purpose) => purposes.push(purpose),
            _ => {}
        }
    }
    if unknown.is_empty() {
        Ok((key, purposes))
    } else {
        Err(format!("unrecognized usage values: [{}]", unknown.join(" ")))
    }
}
