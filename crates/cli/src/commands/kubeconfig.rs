use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use coracle_client::kubeconfig::Kubeconfig as Read;
use coracle_pki::{Authority, Credential, kubeconfig, write_private};

use crate::commands::env::StateArgs;
use crate::exit;
use crate::output::exact;

/// Writes a kubeconfig with a user of its own, so that faults can select the program that uses it, and prints its path.
#[derive(Debug, Args)]
pub(crate) struct Kubeconfig {
    #[command(flatten)]
    state: StateArgs,
    /// The name of the user: letters, digits, and the characters - . _ : @
    #[arg(long = "for", value_name = "NAME", value_parser = name)]
    user: String,
    /// A group of the user; without it, the user is an administrator
    #[arg(long = "group", value_name = "GROUP", default_value = "system:masters")]
    groups: Vec<String>,
    /// The file to write [default: kubeconfig-NAME in the state folder]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A name that can be the name of a file, too.
fn name(text: &str) -> Result<String, String> {
    let is_valid = |sign: char| sign.is_ascii_alphanumeric() || "-._:@".contains(sign);
    match text {
        "" => Err("the name is empty".to_owned()),
        text if !text.chars().all(is_valid) => Err("expected letters, digits, and the characters - . _ : @".to_owned()),
        text if text.starts_with('.') => Err("a name does not begin with a dot".to_owned()),
        text => Ok(text.to_owned()),
    }
}

impl Kubeconfig {
    pub(crate) fn run(self) -> Result<u8> {
        let folder = self.state.folder();
        let server = Read::read(&self.state.kubeconfig()?)?.server;
        let groups: Vec<&str> = self.groups.iter().map(String::as_str).collect();
        let authority = Authority::open(&folder.pki())?;
        let identity = authority.client(&self.user, &groups)?;
        let text = kubeconfig(&self.user, &server, authority.certificate(), Credential::Certificate(&identity));
        let file = self.output.unwrap_or_else(|| folder.path().join(format!("kubeconfig-{}", self.user)));
        write_private(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
        exact!("{}", std::path::absolute(&file)?.display())?;
        Ok(exit::PASS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        assert_eq!(
            name("system:serviceaccount:shop:my-operator").as_deref(),
            Ok("system:serviceaccount:shop:my-operator")
        );
        for wrong in ["", "a/b", "..", ".a", "a b", "ä"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
