use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_import::{ImportOptions, NotImported, import, read_documents};

use crate::commands::env::StateArgs;
use crate::exit;
use crate::input::read_text;
use crate::output::out;
use crate::progress::Progress;
use crate::runtime::runtime;

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
            let text = read_text(file.as_ref()).map_err(|error| exit::Usage(format!("cannot read {file}: {error}")))?;
            documents.extend(read_documents(file, &text).map_err(exit::Usage)?);
        }
        let service = self.state.connect(self.kubeconfig.as_deref())?;
        let options = ImportOptions { dry_run: self.dry_run, drop_unknown_owners: self.drop_unknown_owners };
        let importing = Progress::of("importing objects");
        let imported = runtime()?.block_on(async {
            let client = Client::new(service, &Ambient::system()).with_user_agent("coracle-import");
            import(&client, &documents, options).await
        });
        drop(importing);
        let report = match imported {
            Err(NotImported::Wrong(wrong)) => return Err(exit::Usage(wrong.join("\n")).into()),
            other => other.context("nothing was made")?,
        };
        out!("{report}")?;
        Ok(if report.counts().2 == 0 { exit::PASS } else { exit::CHECK_FAILED })
    }
}
