use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{ArgAction, Args};
use coracle_cluster::{IssuerSpec, ServiceAccountSpec, TokenLifetimes};

use crate::exit;
use crate::flags::values::duration;

/// kube-apiserver's flags for service account tokens.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServiceAccountFlags {
    /// The issuers of service account tokens; new tokens name the first one, and tokens of all of them are accepted
    #[arg(long, value_name = "URL", default_value = ISSUER)]
    service_account_issuer: Vec<String>,
    /// The key that signs service account tokens
    #[arg(long, value_name = "FILE")]
    service_account_signing_key_file: Option<PathBuf>,
    /// Files with public or private keys that verify service account tokens; by default the signing key
    #[arg(long, value_name = "FILE")]
    service_account_key_file: Vec<PathBuf>,
    /// The URL of these keys for clients, if the API server does not serve them itself
    #[arg(long, value_name = "URL")]
    service_account_jwks_uri: Option<String>,
    /// The audiences of which a token must have one; by default the issuers
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    api_audiences: Vec<String>,
    /// The maximum lifetime of a token that a client requests
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    service_account_max_token_expiration: Option<Duration>,
    /// Extend the lifetime of tokens in pods to a year, for programs that read their token only once
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true,
        action = ArgAction::Set)]
    service_account_extend_token_expiration: bool,
}

const ISSUER: &str = "https://kubernetes.default.svc";

impl Default for ServiceAccountFlags {
    fn default() -> Self {
        Self {
            service_account_issuer: vec![ISSUER.to_owned()],
            service_account_signing_key_file: None,
            service_account_key_file: Vec::new(),
            service_account_jwks_uri: None,
            api_audiences: Vec::new(),
            service_account_max_token_expiration: None,
            service_account_extend_token_expiration: true,
        }
    }
}

impl ServiceAccountFlags {
    /// How tokens are signed and verified, from the flags.
    pub(crate) fn spec(&self) -> Result<ServiceAccountSpec> {
        let signing_key = self.service_account_signing_key_file.as_deref();
        let signing_key = signing_key.map(|path| read(path, "--service-account-signing-key-file")).transpose()?;
        let keys = self.service_account_key_file.iter().map(|path| read(path, "--service-account-key-file"));
        let keys = keys.collect::<Result<_>>()?;
        let issuer = IssuerSpec {
            names: self.service_account_issuer.clone(),
            audiences: self.api_audiences.clone(),
            signing_key,
            keys,
            seed: None,
        };
        let lifetimes =
            TokenLifetimes { most: self.most_seconds()?, extend: self.service_account_extend_token_expiration };
        Ok(ServiceAccountSpec { issuer, lifetimes, jwks_uri: self.service_account_jwks_uri.clone() })
    }

    fn most_seconds(&self) -> Result<Option<i64>> {
        let Some(most) = self.service_account_max_token_expiration.filter(|most| !most.is_zero()) else {
            return Ok(None);
        };
        match i64::try_from(most.as_secs()) {
            Ok(seconds @ 3600..=4_294_967_296) => Ok(Some(seconds)),
            _ => {
                let why = "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds";
                Err(exit::Usage(why.to_owned()).into())
            }
        }
    }
}

/// If no flag sets a signing key, tokens are signed with a stored key, whose tokens are accepted too.
pub(crate) fn sign_by(spec: &mut ServiceAccountSpec, kept: impl FnOnce() -> Result<String>) -> Result<()> {
    if spec.issuer.signing_key.is_none() {
        let kept = kept()?;
        if !spec.issuer.keys.is_empty() {
            spec.issuer.keys.push(kept.clone());
        }
        spec.issuer.signing_key = Some(kept);
    }
    Ok(())
}

fn read(path: &Path, flag: &str) -> Result<String> {
    let text = std::fs::read_to_string(path);
    Ok(text.map_err(|error| exit::Usage(format!("{flag} {}: {error}", path.display())))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_token_lifetime_is_between_an_hour_and_2_to_the_32_seconds() {
        let most = |text: Option<&str>| {
            let most = text.map(|text| duration(text).unwrap());
            ServiceAccountFlags { service_account_max_token_expiration: most, ..ServiceAccountFlags::default() }
                .most_seconds()
                .map_err(|error| error.to_string())
        };
        assert_eq!((most(None), most(Some("0")), most(Some("24h"))), (Ok(None), Ok(None), Ok(Some(86400))));
        for wrong in ["59m59s", "2000000h"] {
            assert!(most(Some(wrong)).unwrap_err().contains("between 1 hour and 2^32 seconds"), "{wrong}");
        }
    }

    #[test]
    fn a_stored_key_signs_without_a_flag_and_is_accepted_in_addition_to_other_keys() {
        let mut spec = ServiceAccountSpec::default();
        sign_by(&mut spec, || Ok("kept".to_owned())).unwrap();
        assert_eq!((spec.issuer.signing_key.as_deref(), spec.issuer.keys.len()), (Some("kept"), 0));
        let keys = vec!["other".to_owned()];
        let mut spec = ServiceAccountSpec { issuer: IssuerSpec { keys, ..IssuerSpec::default() }, ..spec };
        sign_by(&mut spec, || Ok("kept".to_owned())).unwrap();
        assert_eq!(spec.issuer.keys, ["other", "kept"]);
        sign_by(&mut spec, || panic!("one is there")).unwrap();
    }
}
