use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};

/// 256 random bits of the system, as 64 hexadecimal digits.
pub(crate) fn random_letters() -> Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).context("no randomness")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
