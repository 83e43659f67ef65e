//! `batch/v1`.

pub(crate) mod cron_job;
mod failure_policy;
pub(crate) mod job;
