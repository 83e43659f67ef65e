//! `cordon` and `uncordon`.
//!
//! In Kubernetes: `kubectl/pkg/cmd/drain`.

use crate::failure::Failure;
use crate::flags::Flag;
use crate::nodes::{cordon, nodes};
use crate::session::CommandSession;
use crate::verb::{SELECTOR, Verb};
use crate::write_flags::dry_run;

const FLAGS: &[Flag] = &[Flag::optional("dry-run", "unchanged", "none, client or server")];

pub(super) const CORDON: Verb = Verb {
    words: &["cordon"],
    aliases: &[],
    flags: &[FLAGS, SELECTOR],
    required: &[],
    about: "Mark node as unschedulable",
    run: |session| Box::pin(run(session, true)),
};

pub(super) const UNCORDON: Verb = Verb {
    words: &["uncordon"],
    aliases: &[],
    flags: &[FLAGS, SELECTOR],
    required: &[],
    about: "Mark node as schedulable",
    run: |session| Box::pin(run(session, false)),
};

async fn run(session: &mut CommandSession<'_>, is_cordoned: bool) -> Result<(), Failure> {
    let dry_run = dry_run(session)?;
    let nodes = nodes(session).await?;
    cordon(session, &nodes, is_cordoned, dry_run).await
}
