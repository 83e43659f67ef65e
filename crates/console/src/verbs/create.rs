//! `create -f`: objects of files.
//!
//! In Kubernetes: `kubectl/pkg/cmd/create/create.go`.

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::CREATE;
use crate::last_applied::{annotated, original};
use crate::printer::Printer;
use crate::selection::{Pick, Wanted, select};
use crate::session::CommandSession;
use crate::verb::{FILES, OUTPUT, SELECTOR, VALIDATE, Verb, WRITE};
use crate::write_flags::{DryRun, dry_run, manager, validation};

const FLAGS: &[Flag] = &[
    Flag::bool("edit", "Not supported"),
    Flag::text("raw", "Not supported"),
    Flag::bool("windows-line-endings", "Without effect"),
];

pub(super) const VERB: Verb = Verb {
    words: &["create"],
    aliases: &[],
    flags: &[FLAGS, CREATE, OUTPUT, FILES, SELECTOR, WRITE, VALIDATE],
    required: &[],
    about: "Create a resource from a file or from stdin",
    run: |session| Box::pin(run(session)),
};

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if session.flags.texts("filename").is_empty() && session.flags.texts("kustomize").is_empty() {
        if !session.args().is_empty() {
            let why = format!("Unexpected args: [{}]", session.args().join(" "));
            return Err(Failure::usage(&why, "create"));
        }
        return Err(Failure::text("must specify one of -f and -k"));
    }
    if !session.args().is_empty() {
        let why = format!("Unexpected args: [{}]", session.args().join(" "));
        return Err(Failure::usage(&why, "create"));
    }
    let (dry_run, validation) = (dry_run(session)?, validation(session)?);
    let manager = manager(session, "kubectl-create");
    let mut printer = Printer::of_change(session, "created")?;
    let wanted = Wanted::of(session, &[]);
    let selection = select(session, &wanted).await?;
    let mut failures = selection.failures.clone();
    let mut count = 0;
    for pick in selection.picks {
        let Pick::Object(info) = pick else { continue };
        let keeps = session.flags.is("save-config") || original(&info.object).is_some();
        let mut object = if keeps { annotated(&info.object) } else { info.object.clone() };
        if dry_run != DryRun::Client {
            let options = dry_run.options(&manager, validation);
            match session.create(&info.kind, &info.namespace, &object, &options).await {
                Ok(created) => object = created,
                Err(failure) => {
                    failures.push(failure.while_doing("creating", &info.source));
                    continue;
                }
            }
            session.forget_kinds();
        }
        count += 1;
        printer.print(&object, &mut session.out)?;
    }
    if count == 0 && failures.is_empty() {
        return Err(Failure::text("no objects passed to create"));
    }
    Failure::aggregate(failures)
}
