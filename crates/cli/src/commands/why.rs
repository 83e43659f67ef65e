use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::env::StateArgs;
use super::story::print_of;
use coracle_control::with_plural_kind;

/// Shows the chain of causes of an object or an event.
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// An object (pod/web-1, rs/web, Deployment/web or pods/default/web-1), the number of an event ('#412'), or a
    /// revision (rev=31)
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    about: String,
    /// An events file, as written by `coracle run --events FILE`, or a report that ends with .html [default: the events
    /// file of the running cluster]
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    #[command(flatten)]
    state: StateArgs,
}

impl Why {
    pub(crate) fn run(self) -> Result<u8> {
        let events = self.events.map_or_else(|| self.state.folder().event_log(), Ok)?;
        print_of(&events, |entries, columns| {
            coracle_viewer::why(entries, &with_plural_kind(entries, &self.about), columns)
        })
    }
}
