use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_import::{ImportOptions, NotImported, import, read_documents};

use crate::commands::env::StateArgs;
use crate::commands::up::runtime;
use crate::exit;
use crate::output::out;

/// Imports objects of another cluster, with their status, nodes and owners.
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(flatten)]
    state: StateArgs,
    /// The kubeconfig of the target cluster, instead of the one in the state folder
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Only print what would be created
    #[arg(long)]
    dry_run: bool,
    /// Drop references to owners that are neither in the files nor in the cluster, instead of refusing the objects
    #[arg(long)]
    drop_unknown_owners: bool,
    /// Files with the output of `kubectl get -o yaml`, lists or single objects; `-` for the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

impl Import {
    pub(crate) fn run(self) -> Result<u8> {
        let mut documents = Vec::new();
        for file in &self.files {
            let text = match file.as_str() {
                "-" => std::io::read_to_string(std::io::stdin()),
                file => std::fs::read_to_string(file),
            };
            let text = text.map_err(|error| exit::Usage(format!("cannot read {file}: {error}")))?;
            documents.extend(read_documents(file, &text).map_err(exit::Usage)?);
        }
        let kubeconfig = match self.kubeconfig {
            Some(file) => file,
            None => self.state.kubeconfig()?,
        };
        let unusable = |error| exit::Usage(format!("--kubeconfig: {:#}", anyhow::Error::from(error)));
        let service = Kubeconfig::read(&kubeconfig).and_then(|read| read.connect()).map_err(unusable)?;
        let options = ImportOptions { dry_run: self.dry_run, drop_unknown_owners: self.drop_unknown_owners };
        let imported = runtime()?.block_on(async {
            let client = Client::new(service, &Ambient::system()).with_user_agent("coracle-import");
            import(&client, &documents, options).await
        });
        let report = match imported {
            Err(NotImported::Wrong(wrong)) => return Err(exit::Usage(wrong.join("\n")).into()),
            other => other.context("nothing was made")?,
        };
        out!("{report}")?;
        Ok(if report.counts().2 == 0 { exit::PASS } else { exit::CHECK_FAILED })
    }
}
