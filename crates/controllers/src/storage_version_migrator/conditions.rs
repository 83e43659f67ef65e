use coracle_ambient::Timestamp;
use coracle_api::meta_v1::Condition;
use coracle_api::storagemigration_v1::StorageVersionMigration;
use coracle_meta::format_time;

use crate::conditions::{is_true, put};

/// How many objects are not yet migrated, of how many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MigrationProgress {
    pub(super) left: usize,
    pub(super) all: usize,
}

/// Whether a migration has succeeded or failed.
pub(super) fn has_ended(migration: &StorageVersionMigration) -> bool {
    ["Succeeded", "Failed"].iter().any(|type_| is_true(&migration.status.conditions, type_))
}

pub(super) fn set_running(migration: &mut StorageVersionMigration, progress: MigrationProgress, now: Timestamp) {
    let state = match progress {
        MigrationProgress { all: 0, .. } => String::new(),
        MigrationProgress { left: 0, all } => format!(", {all} objects verified migrated"),
        MigrationProgress { left, all } => format!(", {left}/{all} objects not yet migrated"),
    };
    set(migration, "Running", "MigrationRunning", format!("The migration is running{state}"), now);
}

pub(super) fn set_succeeded(migration: &mut StorageVersionMigration, now: Timestamp) {
    set(migration, "Succeeded", "StorageVersionMigrationSucceeded", "Migration completed".to_owned(), now);
}

pub(super) fn set_failed(migration: &mut StorageVersionMigration, why: &str, now: Timestamp) {
    let message = format!("migration encountered unhandled error: {why}");
    set(migration, "Failed", "StorageVersionMigrationFailed", message, now);
}

fn set(migration: &mut StorageVersionMigration, type_: &str, reason: &str, message: String, now: Timestamp) {
    let condition = Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(format_time(now)),
        reason: reason.to_owned(),
        message,
        ..Condition::default()
    };
    put(&mut migration.status.conditions, condition);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_runs_and_ends_and_a_condition_keeps_its_time() {
        let mut migration = StorageVersionMigration::default();
        let now = Timestamp::UNIX_EPOCH;
        set_running(&mut migration, MigrationProgress::default(), now);
        assert!(!has_ended(&migration));
        let later = Timestamp::from_second(60).unwrap();
        set_running(&mut migration, MigrationProgress { left: 0, all: 2 }, later);
        assert_eq!(migration.status.conditions[0].message, "The migration is running, 2 objects verified migrated");
        assert_eq!(migration.status.conditions[0].last_transition_time.as_deref(), Some("1970-01-01T00:00:00Z"));
        set_succeeded(&mut migration, later);
        assert!(has_ended(&migration));
    }
}
