//! `batch/v1`.

pub(crate) mod cron_job;
pub(crate) mod job;
mod schedule;
