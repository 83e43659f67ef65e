use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::story::print_of;
use crate::kind_names::with_plural_kind;

/// Says why an object, or an event, is there.
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The object, as in pod/web-1, rs/web, Deployment/web or pods/default/web-1, an event by its number, as in '#412', or a revision, as in rev=31
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    about: String,
    /// An events file, as written by `coracle run --events FILE`, or a report that ends with .html
    #[arg(long, value_name = "FILE")]
    events: PathBuf,
}

impl Why {
    pub(crate) fn run(self) -> Result<u8> {
        print_of(&self.events, |entries| coracle_viewer::why(entries, &with_plural_kind(entries, &self.about)))
    }
}
