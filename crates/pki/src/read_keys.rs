use std::path::Path;
use std::sync::Arc;

use coracle_auth::{Issuer, IssuerSpec};
use coracle_controllers::{CertificateKey, CertificateKeys, Config, TokenKey};

use crate::authority::Authority;
use crate::error::Error;
use crate::files::{certificates, read};
use crate::key_files::{KeyFiles, SigningFiles};

/// Reads `files` and sets the keys in `config`. A setting without a file keeps its value.
///
/// # Errors
/// If a file cannot be read or has the wrong content, in the words of kube-controller-manager.
pub fn read_keys(files: &KeyFiles, config: &mut Config) -> Result<(), Error> {
    if let Some(path) = &files.service_account_private_key {
        let key = token_key(path);
        config.token_key = Some(key.map_err(said("error reading key for service account token controller"))?);
    }
    if let Some(path) = &files.root_ca {
        let about = format!("error parsing root-ca-file at {}", path.display());
        config.root_ca = root_ca(path).map_err(said(&about))?;
    }
    if let Some(key) = authority(&files.cluster_signing, "kubernetes.io/kubelet-serving")? {
        config.pod_certificate_key = Some(key.clone());
        config.certificate_keys = CertificateKeys::all(key);
    }
    let specific = CertificateKeys {
        kubelet_serving: authority(&files.kubelet_serving, "kubernetes.io/kubelet-serving")?,
        kubelet_client: authority(&files.kubelet_client, "kubernetes.io/kube-apiserver-client-kubelet")?,
        kube_apiserver_client: authority(&files.kube_apiserver_client, "kubernetes.io/kube-apiserver-client")?,
        legacy_unknown: authority(&files.legacy_unknown, "kubernetes.io/legacy-unknown")?,
    };
    // If one signer has an authority, signers without one do not sign.
    if specific != CertificateKeys::default() {
        config.certificate_keys = specific;
    }
    Ok(())
}

fn said(about: &str) -> impl FnOnce(Error) -> Error {
    move |error| Error::Certificate(format!("{about}: {error}"))
}

fn token_key(path: &Path) -> Result<TokenKey, Error> {
    let wrong = |why: String| Error::Certificate(format!("error reading private key file {}: {why}", path.display()));
    // Tokens in Secrets have a fixed issuer.
    let spec = IssuerSpec { signing_key: Some(read(path)?), ..IssuerSpec::default() };
    let issuer = Issuer::new(&spec).map_err(|error| wrong(error.to_string()))?;
    Ok(TokenKey::new(move |claims| issuer.sign(claims).map_err(|error| error.to_string())))
}

fn root_ca(path: &Path) -> Result<String, Error> {
    let text = read(path)?;
    certificates(&text).map_err(Error::Certificate)?;
    Ok(text)
}

fn authority(files: &SigningFiles, signer: &str) -> Result<Option<CertificateKey>, Error> {
    let Some((certificate, key)) = files.pair() else { return Ok(None) };
    let about = format!("failed to init {signer} certificate controller: error reading CA cert file");
    let authority = Authority::load(certificate, key).map_err(|error| said(&about)(error))?;
    Ok(Some(CertificateKey::new(Arc::new(authority))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder with two authorities, and an invalid file.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("coracle-keys-{name}-{}", std::process::id()));
            for authority in ["one", "other"] {
                std::fs::create_dir_all(folder.join(authority)).unwrap();
                Authority::open(&folder.join(authority)).unwrap();
            }
            std::fs::write(folder.join("empty"), "").unwrap();
            Self(folder)
        }

        fn file(&self, name: &str) -> Option<PathBuf> {
            Some(self.0.join(name))
        }

        fn read(&self, key_files: KeyFiles) -> Result<Config, String> {
            let mut config = Config::default();
            read_keys(&key_files, &mut config).map(|()| config).map_err(|error| error.to_string())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn keys_are_read_of_their_files_and_an_authority_of_one_signer_leaves_the_others_without() {
        let folder = Folder::new("read");
        let pair = SigningFiles { certificate: folder.file("one/ca.crt"), key: folder.file("one/ca.key") };
        let files = KeyFiles {
            service_account_private_key: folder.file("other/ca.key"),
            root_ca: folder.file("other/ca.crt"),
            cluster_signing: pair.clone(),
            ..KeyFiles::default()
        };
        let all = folder.read(files).unwrap();
        assert!(all.token_key.is_some() && all.root_ca.contains("BEGIN CERTIFICATE"));
        assert!(all.certificate_keys.kubelet_serving.is_some() && all.certificate_keys.legacy_unknown.is_some());
        let one = folder.read(KeyFiles { kubelet_client: pair, ..KeyFiles::default() }).unwrap();
        assert!(one.token_key.is_none() && one.certificate_keys.kubelet_client.is_some());
        assert!(one.certificate_keys.kubelet_serving.is_none());
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_what_is_wrong() {
        let folder = Folder::new("wrong");
        let signing = |certificate, key| {
            let cluster_signing = SigningFiles { certificate: folder.file(certificate), key: folder.file(key) };
            folder.read(KeyFiles { cluster_signing, ..KeyFiles::default() }).unwrap_err()
        };
        let missing = signing("one/ca.crt", "none.key");
        assert!(
            missing.starts_with("failed to init kubernetes.io/kubelet-serving certificate controller"),
            "{missing}"
        );
        assert!(missing.contains("none.key"), "{missing}");
        assert!(signing("one/ca.crt", "other/ca.key").contains("private key does not match public key"));
        assert!(signing("empty", "one/ca.key").contains("any valid RSA or ECDSA certificates"));
        let empty = folder.file("empty");
        let no_key = folder.read(KeyFiles { service_account_private_key: empty.clone(), ..KeyFiles::default() });
        let no_key = no_key.unwrap_err();
        assert!(no_key.starts_with("error reading key for service account token controller: "), "{no_key}");
        assert!(no_key.ends_with("data does not contain a valid RSA or ECDSA private key"), "{no_key}");
        let no_root = folder.read(KeyFiles { root_ca: empty, ..KeyFiles::default() }).unwrap_err();
        assert!(no_root.starts_with("error parsing root-ca-file at "), "{no_root}");
    }
}
