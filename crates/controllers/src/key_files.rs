use std::path::PathBuf;

/// The paths of the controllers' keys. The program that runs the controllers reads the files and sets the keys.
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
    pub fn pair(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.certificate.as_ref().zip(self.key.as_ref())
    }

    fn is_empty(&self) -> bool {
        self.certificate.is_none() && self.key.is_none()
    }
}

impl KeyFiles {
    /// The file that a flag sets; `None` if the flag does not set a key file.
    pub(crate) fn of_flag(&mut self, flag: &str) -> Option<&mut Option<PathBuf>> {
        match flag {
            "service-account-private-key-file" => return Some(&mut self.service_account_private_key),
            "root-ca-file" => return Some(&mut self.root_ca),
            _ => {}
        }
        let rest = flag.strip_prefix("cluster-signing-")?;
        let (signer, is_key) = match rest.strip_suffix("cert-file") {
            Some(signer) => (signer, false),
            None => (rest.strip_suffix("key-file")?, true),
        };
        let files = match signer {
            "" => &mut self.cluster_signing,
            "kubelet-serving-" => &mut self.kubelet_serving,
            "kubelet-client-" => &mut self.kubelet_client,
            "kube-apiserver-client-" => &mut self.kube_apiserver_client,
            "legacy-unknown-" => &mut self.legacy_unknown,
            _ => return None,
        };
        Some(if is_key { &mut files.key } else { &mut files.certificate })
    }

    /// Rejects half a pair, and a common authority combined with one for a single signer.
    ///
    /// In Kubernetes: `CSRSigningControllerOptions.Validate`. Unlike Kubernetes: half of the common pair is rejected
    /// too. Kubernetes then silently disables all signers.
    pub(crate) fn check(&self) -> Result<(), String> {
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

    fn check(flags: &[&str]) -> Result<(), String> {
        let mut files = KeyFiles::default();
        for flag in flags {
            *files.of_flag(flag).unwrap() = Some(PathBuf::from("file"));
        }
        files.check()
    }

    #[test]
    fn a_pair_is_whole_and_one_for_all_stands_alone() {
        assert_eq!(check(&["cluster-signing-cert-file", "cluster-signing-key-file", "root-ca-file"]), Ok(()));
        assert_eq!(
            check(&["cluster-signing-legacy-unknown-cert-file", "cluster-signing-legacy-unknown-key-file"]),
            Ok(())
        );
        let half = check(&["cluster-signing-kubelet-serving-key-file"]).unwrap_err();
        assert_eq!(half, "\"cluster-signing-kubelet-serving\": cannot specify key without cert");
        assert_eq!(
            check(&["cluster-signing-cert-file"]).unwrap_err(),
            "\"cluster-signing\": cannot specify cert without key"
        );
        let both = check(&[
            "cluster-signing-cert-file",
            "cluster-signing-key-file",
            "cluster-signing-kubelet-client-cert-file",
            "cluster-signing-kubelet-client-key-file",
        ]);
        assert!(both.unwrap_err().contains("at the same time"));
        assert_eq!(KeyFiles::default().of_flag("cluster-signing-colour-cert-file"), None);
    }
}
