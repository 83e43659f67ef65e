use std::path::Path;

use anyhow::Result;
use coracle_client::Https;
use coracle_client::kubeconfig::{Kubeconfig, KubeconfigError};

use crate::exit;

/// The kubeconfig in the file of `--kubeconfig`.
pub(crate) fn read(file: &Path) -> Result<Kubeconfig> {
    Ok(Kubeconfig::read(file).map_err(refused)?)
}

/// The API server of the kubeconfig in a file.
pub(crate) fn connect(file: &Path) -> Result<Https> {
    Ok(read(file)?.connect().map_err(refused)?)
}

pub(crate) fn refused(error: KubeconfigError) -> exit::Usage {
    exit::Usage(format!("--kubeconfig: {:#}", anyhow::Error::from(error)))
}
