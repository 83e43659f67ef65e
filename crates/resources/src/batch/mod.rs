//! `batch/v1`.

pub(crate) mod cron_job;
mod failure_policy;
mod index_intervals;
pub(crate) mod job;
mod job_status;
