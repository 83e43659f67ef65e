use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, ValueEnum};
use coracle_cluster::{ApiServerOptions, Audit, AuditLog, AuditPolicy};

use crate::exit;
use crate::output::note;

/// kube-apiserver's flags for the audit log.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AuditFlags {
    /// The audit policy: a Policy of audit.k8s.io/v1
    #[arg(long, value_name = "FILE")]
    audit_policy_file: Option<PathBuf>,
    /// The file of the audit log, or - for the standard output
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    audit_log_path: Option<String>,
    /// The mode of writing the audit log: blocking or batch, which are the same here; blocking-strict is not supported
    #[arg(long, value_name = "MODE")]
    audit_log_mode: Option<AuditLogMode>,
}

/// How the audit log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AuditLogMode {
    Batch,
    Blocking,
    #[value(hide = true)]
    BlockingStrict,
}

impl AuditFlags {
    /// Applies the flags to `options`. An audit log requires a policy.
    pub(crate) fn set(&self, options: &mut ApiServerOptions) -> Result<()> {
        if self.audit_log_mode == Some(AuditLogMode::BlockingStrict) {
            let why = "--audit-log-mode blocking-strict: not supported; use blocking or batch";
            return Err(exit::Usage(why.to_owned()).into());
        }
        let Some(path) = &self.audit_policy_file else {
            if self.audit_log_path.is_some() {
                note!("note: no audit policy file provided, no events will be recorded");
            }
            return Ok(());
        };
        let refused = |why: String| exit::Usage(format!("--audit-policy-file {}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let policy = Arc::new(AuditPolicy::parse(&text).map_err(refused)?);
        if let Some(path) = &self.audit_log_path {
            let log = AuditLog::open(path).map_err(|error| exit::Usage(format!("--audit-log-path {error}")))?;
            options.audit = Some(Audit { policy, sink: Arc::new(log) });
        }
        Ok(())
    }
}

/// Waits until the audit log is completely written, after the last request has been answered.
pub(crate) fn close(audit: Option<&Audit>) {
    if let Some(audit) = audit {
        audit.sink.close();
    }
}
