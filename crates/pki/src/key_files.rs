use std::path::PathBuf;

/// The paths of the controllers' keys. `read_keys` reads the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFiles {
    /// `--service-account-private-key-file`
    pub service_account_private_key: Option<PathBuf>,
    /// `--root-ca-file`
    pub root_ca: Option<PathBuf>,
    /// The certificate authority of all signers. `--cluster-signing-cert-file`, `--cluster-signing-key-file`
    pub cluster_signing: SigningFiles,
    /// `--cluster-signing-kubelet-serving-cert-file`, `--cluster-signing-kubelet-serving-key-file`
    pub kubelet_serving: SigningFiles,
    /// `--cluster-signing-kubelet-client-cert-file`, `--cluster-signing-kubelet-client-key-file`
    pub kubelet_client: SigningFiles,
    /// `--cluster-signing-kube-apiserver-client-cert-file`, `--cluster-signing-kube-apiserver-client-key-file`
    pub kube_apiserver_client: SigningFiles,
    /// `--cluster-signing-legacy-unknown-cert-file`, `--cluster-signing-legacy-unknown-key-file`
    pub legacy_unknown: SigningFiles,
}

/// The files of a certificate authority's certificate and key: both or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SigningFiles {
    /// The certificate, PEM.
    pub certificate: Option<PathBuf>,
    /// The key, PEM.
    pub key: Option<PathBuf>,
}

impl SigningFiles {
    /// Both files, if set.
    pub(crate) fn pair(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.certificate.as_ref().zip(self.key.as_ref())
    }

    fn is_empty(&self) -> bool {
        self.certificate.is_none() && self.key.is_none()
    }
}

impl KeyFiles {
    /// Rejects half a pair, and a common authority combined with one for a single signer.
    ///
    /// In Kubernetes: `CSRSigningControllerOptions.Validate`. Unlike Kubernetes: half of the common pair is rejected
    /// too. Kubernetes then silently disables all signers.
    ///
    /// # Errors
    /// The reason, in the words of kube-controller-manager.
    pub fn check(&self) -> Result<(), String> {
        let specific = [
            ("cluster-signing-kubelet-serving", &self.kubelet_serving),
            ("cluster-signing-kubelet-client", &self.kubelet_client),
            ("cluster-signing-kube-apiserver-client", &self.kube_apiserver_client),
            ("cluster-signing-legacy-unknown", &self.legacy_unknown),
        ];
        let pairs = specific.into_iter().chain([("cluster-signing", &self.cluster_signing)]);
        for (name, files) in pairs {
            match (&files.certificate, &files.key) {
                (None, Some(_)) => return Err(format!("{name:?}: cannot specify key without cert")),
                (Some(_), None) => return Err(format!("{name:?}: cannot specify cert without key")),
                _ => {}
            }
        }
        if !self.cluster_signing.is_empty() && specific.iter().any(|(_, files)| !files.is_empty()) {
            return Err(
                "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(certificate: bool, key: bool) -> SigningFiles {
        let file = |is_there: bool| is_there.then(|| PathBuf::from("file"));
        SigningFiles { certificate: file(certificate), key: file(key) }
    }

    #[test]
    fn a_pair_is_whole_and_one_for_all_stands_alone() {
        let all = KeyFiles { cluster_signing: pair(true, true), ..KeyFiles::default() };
        assert_eq!(all.check(), Ok(()));
        let one = KeyFiles { legacy_unknown: pair(true, true), ..KeyFiles::default() };
        assert_eq!(one.check(), Ok(()));
        let half = KeyFiles { kubelet_serving: pair(false, true), ..KeyFiles::default() }.check().unwrap_err();
        assert_eq!(half, "\"cluster-signing-kubelet-serving\": cannot specify key without cert");
        let half = KeyFiles { cluster_signing: pair(true, false), ..KeyFiles::default() }.check().unwrap_err();
        assert_eq!(half, "\"cluster-signing\": cannot specify cert without key");
        let both = KeyFiles { kubelet_client: pair(true, true), ..all }.check().unwrap_err();
        assert!(both.contains("at the same time"));
    }
}
