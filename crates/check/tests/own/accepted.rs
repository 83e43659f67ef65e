use coracle_check::Accepted;

/// The garbage collector of Kubernetes decides from its cache, too.
const COLLECTOR: &str = "as in Kubernetes, the garbage collector knows only the dependents that its watches have shown; \
                         with late pods an owner is let go as if it had none, and they are collected after it";

/// What the components of the cluster do under faults, and may do.
pub(crate) const ACCEPTED: [Accepted; 7] = [
    Accepted {
        scenario: "endpoints-while-a-pod-ends",
        word: "fails-work",
        part: "one of the pods terminates, and is still serving",
        reason: "the pod terminates for ten seconds, and a watch of pods that is later than that never shows it in \
                 between",
    },
    Accepted {
        scenario: "deletion-policies",
        word: "fails-work",
        part: "with Orphan the pods continue to run without an owner",
        reason: COLLECTOR,
    },
    Accepted {
        scenario: "deletion-policies",
        word: "fails-work",
        part: "with Foreground the ReplicaSet waits for its pods",
        reason: COLLECTOR,
    },
    Accepted {
        scenario: "preemption",
        word: "fails-work",
        part: "one of them is preempted",
        reason: "as in Kubernetes, the scheduler records `Preempted` after it has deleted the pod; if it is killed in \
                 between, there is no such event, which the step waits for",
    },
    Accepted {
        scenario: "rolling-update",
        word: "breaks-property",
        part: "fewer pods are ready than maxUnavailable allows",
        reason: "as in Kubernetes, the node controller takes a node for lost whose Lease it has not seen renewed for 40 \
                 seconds, and marks its pods as not ready",
    },
    Accepted {
        scenario: "daemonset-new-node",
        word: "breaks-property",
        part: "no node has two pods that are not terminating",
        reason: "as in Kubernetes, a creation whose answer is lost counts as failed, and is repeated under another name \
                 before a late watch shows its pod; one of the two is deleted then",
    },
    Accepted {
        scenario: "job-backs-off",
        word: "fails-work",
        part: "after two more attempts the Job fails",
        reason: "as in Kubernetes, a creation whose answer is lost is repeated before a late watch shows its pod; both \
                 pods fail, and the Job fails with one failure more than the step expects",
    },
];
