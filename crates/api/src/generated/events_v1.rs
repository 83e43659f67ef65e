// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `events.v1.Event`.
    pub struct Event("events.k8s.io/v1", "Event") {
        action: String = "action" if nonzero,
        deprecated_count: i32 = "deprecatedCount" if nonzero,
        deprecated_first_timestamp: Option<String> = "deprecatedFirstTimestamp",
        deprecated_last_timestamp: Option<String> = "deprecatedLastTimestamp",
        deprecated_source: super::core_v1::EventSource = "deprecatedSource",
        event_time: Option<String> = "eventTime",
        metadata: coracle_meta::ObjectMeta = "metadata",
        note: String = "note" if nonzero,
        reason: String = "reason" if nonzero,
        regarding: super::core_v1::ObjectReference = "regarding",
        related: Option<Box<super::core_v1::ObjectReference>> = "related",
        reporting_controller: String = "reportingController" if nonzero,
        reporting_instance: String = "reportingInstance" if nonzero,
        series: Option<Box<EventSeries>> = "series",
        type_: String = "type" if nonzero,
    }
}
resource!(Event, "events.k8s.io", "v1", "Event", "events", Namespaced);

lean_struct! {
    /// In Kubernetes: `events.v1.EventSeries`.
    pub struct EventSeries {
        count: i32 = "count",
        last_observed_time: Option<String> = "lastObservedTime",
    }
}
