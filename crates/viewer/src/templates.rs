use coracle_journal::Stage;

/// The sentence of an entry of a stage: the first template whose condition is met. A condition is empty, or a field of
/// the data that must be present and not empty, or such a field with its value, `op=create`.
///
/// In a text, `{word}` is a field of the data, `{k}` the subject and `{rv}` the revision. A part in brackets is left
/// out if a field in it is empty. A map is written as `pods at 41, nodes at 40`, a list as `a, b`.
///
/// The page reads the same table.
pub(crate) type Template = &'static [(&'static str, &'static str)];

/// The templates of a stage.
pub(crate) fn template(stage: Stage) -> Template {
    match stage {
        Stage::ApiRequest => &[
            ("subresource", "{user} asks to {verb} {k}/{subresource}"),
            ("verb=create", "{user} asks to create an object in {k}"),
            ("", "{user} asks to {verb} {k}"),
        ],
        Stage::ApiRespond => &[
            ("precondition", "answers {code}[ {reason}]: it wants {precondition}[, and {stored} is stored]"),
            ("", "answers {code}[ {reason}]"),
        ],
        Stage::AdmissionChange => &[("", "{plugin} changes {k}[ at {paths}]")],
        Stage::AdmissionRefuse => &[("", "{plugin} refuses {k}: {why}")],
        Stage::WebhookCall => &[("", "calls {k}")],
        Stage::WebhookAnswer => &[("error", "gets no use of {k}: {error}"), ("", "is answered by {k}")],
        Stage::StoreCommit => {
            &[("op=create", "creates {k}"), ("op=put", "updates {k}"), ("op=delete", "removes {k}"), ("", "{op} {k}")]
        }
        Stage::ObjectChange => {
            &[("gone", "{k} is no more"), ("whole", "{k} is written down whole"), ("", "{k} changes")]
        }
        Stage::WatchSend => &[("", "sends {type} {k} to {watcher}")],
        Stage::WatchExpired => &[("", "ends the watch: {why}")],
        Stage::ReflectorList => &[("", "lists {kind}: {why}")],
        Stage::ReflectorWatch => &[("", "watches {kind}")],
        Stage::FifoAdd => &[("", "queues the delta {type} {k}")],
        Stage::FifoPop => &[("", "takes the delta {type} {k}")],
        Stage::CacheApply => &[("", "the cache now shows {k} at {rv}")],
        Stage::HandlerCall => &[("", "the handler receives {notification} {k}")],
        Stage::QueueAdd => &[("", "the key {k} is {how}")],
        Stage::QueueDelay => &[("", "the key {k} comes back later: {why}")],
        Stage::QueueGet => &[("", "a worker takes the key {k}")],
        Stage::QueueDone => &[("", "the worker gives the key {k} back")],
        Stage::SyncStart => &[("", "sync of {k}")],
        Stage::SyncWaitStale => &[
            ("gone", "waits: the cache of {kind} still shows {gone}, which it has deleted"),
            ("", "waits: the cache of {kind} has not seen its own write at {needs}"),
        ],
        Stage::SyncWrite => &[("", "writes for {k}: {verb} {resource}[ {name}][, only if {precondition}]")],
        Stage::SyncEnd => &[("", "sync of {k} ends: {result}[, having read {reads}][, {decided}][: {error}]")],
        Stage::SchedulerPick => {
            &[("node", "picks {node} for {k}[; scores: {scores}]"), ("", "finds no node for {k}: {why}")]
        }
        Stage::KubeletTransition => &[("", "{k} goes from {from} to {to}")],
        Stage::KubeletVolume => VOLUME,
        Stage::StepStart => &[("", "step: {name}")],
        Stage::StepEnd => &[("", "step is over: {name}")],
        Stage::StepSkip => &[("", "step is not reached: {name}")],
        Stage::CheckPass => &[
            ("vacuous", "holds, and is vacuous: {name}: {vacuous}"),
            ("throughout", "held throughout: {name}"),
            ("", "holds: {name}"),
        ],
        Stage::CheckFail => &[("vacuous", "is vacuous: {name}: {vacuous}"), ("", "does not hold: {name}")],
        Stage::FaultOn => &[("", "{fault} of {k} begins")],
        Stage::FaultOff => &[("", "{fault} of {k} ends")],
        Stage::ComponentStart => &[("", "starts")],
        Stage::ComponentStop => &[("", "stops")],
    }
}

/// The templates of what the volume manager of a node does.
const VOLUME: Template = &[
    ("step=DesiredStateOfWorld", "the volume manager adds {volume} for {k} to its DesiredStateOfWorld[: {error}]"),
    (
        "step=VerifyControllerAttachedVolume",
        "the volume manager checks that {volume} for {k} is attached to the node[: {error}]",
    ),
    ("step=MountDevice", "the volume manager mounts the device of {volume} for {k} on the node[: {error}]"),
    ("step=MountVolume", "the volume manager mounts {volume} for {k}[: {error}]"),
    ("step=ExpandVolume", "the volume manager expands {volume} for {k}[: {error}]"),
    ("step=UnmountVolume", "the volume manager unmounts {volume} of {k}[: {error}]"),
    ("step=UnmountDevice", "the volume manager unmounts the device of {volume} from the node[: {error}]"),
    ("step=MarkVolumeAsDetached", "the volume manager marks {volume} as detached from the node[: {error}]"),
    ("", "the volume manager performs {step} for {volume} of {k}[: {error}]"),
];
