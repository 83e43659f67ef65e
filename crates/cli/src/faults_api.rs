//! The faults of `--faults`.

use std::path::Path;

use anyhow::anyhow;
use coracle_scenario::{FaultList, FaultyServer, RunningFaults};

use crate::exit;

/// The faults of the file in `--faults`.
pub(crate) fn read_faults(file: Option<&Path>, server: FaultyServer) -> Result<Option<FaultList>, exit::Usage> {
    let faults = file.map(|file| coracle_scenario::read_faults(file, server)).transpose();
    faults.map_err(|problem| exit::Usage(format!("--faults: {problem}")))
}

/// Causes the faults of the file in `--faults`.
pub(crate) async fn cause(running: &RunningFaults, faults: Option<&FaultList>) -> anyhow::Result<()> {
    if let Some(faults) = faults {
        running.add(faults).await.map_err(|why| anyhow!("--faults: {why:?}"))?;
    }
    Ok(())
}
