//! Code that writes code: `cargo xtask schema` writes the schema table, `cargo xtask api` the typed kinds.

mod api;
mod definitions;
mod facts;
#[cfg(feature = "proto")]
mod proto;
mod protos;
mod schema;

use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let result = match task.as_str() {
        "schema" => schema::write(),
        "api" => api::write(),
        #[cfg(feature = "proto")]
        "proto" => proto::write(),
        _ => {
            eprintln!("usage: cargo xtask schema | api");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
