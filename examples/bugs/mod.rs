//! Bugs that real controllers had, each as a small controller that has it and a twin that does not. A fault makes the
//! first fail, and the second survives it. Without the fault, no test sees the bug.
//!
//! Each file says what is wrong, where it was found, and which fault shows it. [`trial`] has what they share: an API
//! server in virtual time, and the faults of `docs/faults.md` as functions. To add a bug, add a file that implements
//! `Bug`, and two lines below.
//!
//! `go` and `python` have four of these bugs as programs that use client-go, controller-runtime and the Python client.
//! Their tests run them over HTTPS against `coracle up`: see `docs/clients.md`.

mod answer_over_event;
mod cancelled_pass;
mod claim_by_name;
mod counted_twice;
mod dropped_delete;
mod expired_expectations;
mod first_pass_only;
mod inherited_expectations;
mod merged_key;
mod never_rests;
mod old_leader;
mod orphaned_machine;
mod search;
mod second_request;
mod skipped_terminating;
mod skipped_tombstone;
mod small_claim;
mod terminating_claim;
mod too_many_pods;
mod too_many_sets;
mod trial;
mod two_containers;
mod unseen_deletion;

/// The tests: one line for each bug, with its file and what is wrong.
macro_rules! bugs {
    ($($file:ident: $claim:ident,)*) => {
        $(#[test]
        fn $claim() {
            trial::prove::<$file::Example>();
        })*
    };
}

bugs! {
    second_request: a_lost_answer_makes_a_second_request_for_one_certificate,
    too_many_sets: a_watch_that_lags_makes_a_second_set_after_each_time_out,
    too_many_pods: a_watch_that_lags_makes_more_pods_than_are_wanted,
    expired_expectations: a_watch_that_lags_longer_than_expectations_last_makes_twice_as_many_pods,
    inherited_expectations: a_slow_creation_leaves_its_expectation_to_an_object_of_the_same_name,
    counted_twice: a_watch_of_pods_that_lags_makes_a_finished_pod_count_twice,
    cancelled_pass: a_watch_of_its_own_kind_that_lags_makes_a_controller_drop_the_newest_revision,
    answer_over_event: a_slow_answer_replaces_a_newer_event_in_the_cache,
    dropped_delete: a_watch_that_ends_makes_a_reader_keep_an_object_that_is_gone,
    skipped_tombstone: a_deletion_that_only_a_list_reveals_is_not_cleaned_up_after,
    skipped_terminating: an_object_that_terminates_before_the_first_list_keeps_its_finalizer,
    unseen_deletion: a_watch_that_hangs_hides_a_deletion_from_a_controller_that_waits_to_see_it,
    merged_key: a_watch_that_hangs_merges_a_deletion_and_a_creation_of_the_same_name,
    terminating_claim: a_slow_write_makes_a_controller_take_a_terminating_claim_for_a_new_one,
    small_claim: a_crash_between_two_steps_makes_a_controller_forget_the_second,
    first_pass_only: a_crash_after_the_first_write_makes_a_controller_never_report_a_status,
    orphaned_machine: a_crash_between_two_creations_leaves_an_object_that_nothing_owns,
    two_containers: a_stale_first_list_starts_a_second_container_of_one_pod,
    claim_by_name: a_stale_first_list_deletes_the_claim_of_another_incarnation,
    old_leader: a_slow_write_of_an_old_leader_lands_after_the_new_leader_has_written,
    never_rests: a_time_in_the_status_makes_a_controller_wake_itself,
}

/// The searches: one line for each bug that a search finds, with the check that finds it.
macro_rules! found {
    ($($file:ident: $claim:ident by $check:literal,)*) => {
        $(#[test]
        fn $claim() {
            search::find::<$file::Example>(stringify!($file), $check);
        })*
    };
}

found! {
    second_request: a_search_finds_the_second_request by "ends-differently",
    too_many_sets: a_search_finds_the_second_set by "ends-differently",
    answer_over_event: a_search_finds_the_answer_that_replaced_an_event by "writes-after-restart",
    skipped_tombstone: a_search_finds_the_address_that_is_not_freed by "leaves-behind",
    skipped_terminating: a_search_finds_the_finalizer_that_is_kept by "ends-differently",
    merged_key: a_search_finds_the_leader_of_another_worker by "ends-differently",
    small_claim: a_search_finds_the_claim_that_stays_small by "ends-differently",
    first_pass_only: a_search_finds_the_status_that_is_never_set by "ends-differently",
    orphaned_machine: a_search_finds_the_disk_that_nothing_names by "ends-differently",
    never_rests: a_search_finds_the_write_that_wakes_its_own_controller by "never-settles",
    counted_twice: a_search_finds_the_pod_that_counts_twice by "never-settles",
    unseen_deletion: a_search_finds_the_claim_whose_pod_is_gone by "ends-differently",
    dropped_delete: a_search_finds_the_name_that_stays_in_the_cache by "writes-after-restart",
    two_containers: a_search_finds_the_second_container_of_one_pod by "breaks-property",
    too_many_pods: a_search_finds_the_pods_that_are_too_many by "breaks-property",
    expired_expectations: a_search_finds_the_pods_of_an_expectation_that_expired by "ends-differently",
    inherited_expectations: a_search_finds_the_expectation_that_is_inherited by "writes-after-restart",
    cancelled_pass: a_search_finds_the_revision_that_is_never_deployed by "writes-after-restart",
    terminating_claim: a_search_finds_the_claim_that_goes by "ends-differently",
    claim_by_name: a_search_finds_the_claim_of_another_cluster by "foreign-object",
    old_leader: a_search_finds_the_write_of_the_old_leader by "lost-lease",
}
