//! Which pods a rolling update replaces now.

use std::sync::Arc;

use coracle_api::core_v1::Pod;

/// A member of a set during an update.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// `None` if it is missing.
    pub(super) pod: Option<Arc<Pod>>,
    /// Whether it has another revision than the update, and is not being deleted.
    pub(super) is_old: bool,
    /// Whether it is not available, or is being deleted.
    pub(super) is_unavailable: bool,
    /// Whether the partition keeps it as it is.
    pub(super) is_kept: bool,
}

impl Member {
    /// The pod, if the update replaces it sooner or later.
    fn replaced(&self) -> Option<&Arc<Pod>> {
        self.pod.as_ref().filter(|_| self.is_old && !self.is_kept)
    }
}

/// The pods to delete, from the highest ordinal down, so that not more than `most` are unavailable. `members` are
/// sorted in the same way.
///
/// In a parallel set, old pods that are unavailable anyway are replaced first, and cost nothing.
///
/// In Kubernetes: `updateStatefulSetAfterInvariantEstablished`.
pub(super) fn within(most: usize, members: &[Member], is_parallel: bool) -> Vec<Arc<Pod>> {
    let unavailable = members.iter().filter(|member| member.is_unavailable).count();
    let may_go = most.saturating_sub(unavailable);
    if !is_parallel {
        return members.iter().filter_map(Member::replaced).take(may_go).cloned().collect();
    }
    let (ill, well): (Vec<&Member>, Vec<&Member>) = members.iter().partition(|member| member.is_unavailable);
    let ill = ill.into_iter().filter_map(Member::replaced);
    let well = well.into_iter().filter_map(Member::replaced).take(may_go);
    ill.chain(well).cloned().collect()
}

/// The pod to delete, or the pod that the update waits for: the first one that is old or unavailable. For releases
/// without `maxUnavailable`.
pub(super) fn one_by_one(members: &[Member]) -> (Option<&Arc<Pod>>, Option<&Arc<Pod>>) {
    let mut present = members.iter().take_while(|member| !member.is_kept);
    match present.find(|member| member.is_old || member.is_unavailable) {
        Some(member) if member.is_old => (member.pod.as_ref(), None),
        Some(member) => (None, member.pod.as_ref()),
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the highest ordinal down: `o` old, `O` old and unavailable, `n` new, `N` new and unavailable, `-` missing.
    fn members(from_the_top: &str, kept: usize) -> Vec<Member> {
        let count = from_the_top.len();
        let member = |(index, sign): (usize, char)| {
            let mut pod = Pod::default();
            pod.metadata.name = Some(format!("db-{}", count - 1 - index));
            Member {
                pod: (sign != '-').then(|| Arc::new(pod)),
                is_old: sign.eq_ignore_ascii_case(&'o'),
                is_unavailable: sign.is_ascii_uppercase() || sign == '-',
                is_kept: count - index <= kept,
            }
        };
        from_the_top.chars().enumerate().map(member).collect()
    }

    fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
        pods.iter().map(|pod| pod.name()).collect()
    }

    #[test]
    fn an_ordered_set_replaces_from_the_top_as_many_as_may_be_unavailable() {
        assert_eq!(names(&within(2, &members("oooo", 0), false)), ["db-3", "db-2"]);
        assert_eq!(names(&within(2, &members("Nooo", 0), false)), ["db-2"]);
        assert!(within(2, &members("N-oo", 0), false).is_empty());
        assert!(within(1, &members("Oooo", 0), false).is_empty(), "an old pod that is unavailable counts, too");
        assert_eq!(names(&within(4, &members("oooo", 3), false)), ["db-3"], "down to the partition");
    }

    #[test]
    fn a_parallel_set_replaces_old_pods_that_are_unavailable_anyway_first_and_without_counting_them() {
        assert_eq!(names(&within(1, &members("ooOO", 0), true)), ["db-1", "db-0"]);
        assert_eq!(names(&within(3, &members("oooO", 0), true)), ["db-0", "db-3", "db-2"]);
        assert!(within(1, &members("Nooo", 0), true).is_empty());
        assert_eq!(names(&within(2, &members("NooO", 1), true)), Vec::<&str>::new(), "the partition keeps db-0");
    }

    #[test]
    fn without_the_field_one_pod_goes_when_those_above_it_are_well() {
        let name = |pod: Option<&Arc<Pod>>| pod.map(|pod| pod.name().to_owned());
        let step = |from_the_top: &str, kept| {
            let members = members(from_the_top, kept);
            let (goes, waits_for) = one_by_one(&members);
            (name(goes), name(waits_for))
        };
        assert_eq!(step("nooo", 0), (Some("db-2".to_owned()), None));
        assert_eq!(step("Nooo", 0), (None, Some("db-3".to_owned())));
        assert_eq!(step("nnoo", 2), (None, None));
        assert_eq!(step("Oooo", 0), (Some("db-3".to_owned()), None));
    }
}
