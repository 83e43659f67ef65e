//! Which slice holds which endpoint: as few writes as possible, rather than as few slices.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::discovery_v1::{Endpoint, EndpointPort, EndpointSlice};

use crate::service_endpoints::{EndpointKey, SliceWrites, is_as_wanted, key_of_endpoint};

/// Endpoints with the same ports.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) ports: Vec<EndpointPort>,
    pub(super) endpoints: BTreeMap<EndpointKey, Endpoint>,
}

/// Places `wanted` in the existing slices, and in new ones.
///
/// 1. Each slice keeps those of its endpoints that are still wanted; one without any is deleted.
/// 2. What is left fills up the slices that change anyway, the fullest first.
/// 3. What is left then goes into the one slice that it fills best, if it fits in one, or else into new slices.
///
/// In Kubernetes: `reconcileByPortMapping`.
pub(super) fn place(
    slices: &[Arc<EndpointSlice>],
    mut wanted: BTreeMap<EndpointKey, Endpoint>,
    labels: &BTreeMap<String, String>,
    max: usize,
    new: impl Fn() -> EndpointSlice,
) -> SliceWrites {
    let mut writes = SliceWrites::default();
    let mut unchanged = Vec::new();
    for slice in slices {
        let mut same = true;
        let keep = |there: &Endpoint| {
            let endpoint = wanted.remove(&key_of_endpoint(there))?;
            same &= is_as_wanted(&endpoint, there);
            Some(endpoint)
        };
        let kept: Vec<_> = slice.endpoints.iter().filter_map(keep).collect();
        same &= kept.len() == slice.endpoints.len();
        if same && slice.metadata.labels == *labels {
            unchanged.push(slice.clone());
        } else if kept.is_empty() && !same {
            writes.delete.push(slice.clone());
        } else {
            let mut slice = slice.as_ref().clone();
            if !same {
                slice.endpoints = kept;
            }
            slice.metadata.labels.clone_from(labels);
            writes.update.push(slice);
        }
    }
    writes.update.sort_by_key(|slice| Reverse(slice.endpoints.len()));
    for slice in &mut writes.update {
        fill(slice, &mut wanted, max);
    }
    while !wanted.is_empty() {
        let room = |slice: &EndpointSlice| max.checked_sub(wanted.len() + slice.endpoints.len());
        let fits = |place: &usize| room(&unchanged[*place]).is_some_and(|left| left < max);
        let place = (0..unchanged.len()).filter(fits).min_by_key(|place| room(&unchanged[*place]));
        match place.filter(|_| wanted.len() < max) {
            Some(place) => {
                let mut slice = unchanged.remove(place).as_ref().clone();
                fill(&mut slice, &mut wanted, max);
                writes.update.push(slice);
            }
            None => {
                let mut slice = new();
                fill(&mut slice, &mut wanted, max);
                writes.create.push(slice);
            }
        }
    }
    writes
}

fn fill(slice: &mut EndpointSlice, wanted: &mut BTreeMap<EndpointKey, Endpoint>, max: usize) {
    while slice.endpoints.len() < max
        && let Some((_, endpoint)) = wanted.pop_first()
    {
        slice.endpoints.push(endpoint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MAX: usize = 5;

    fn endpoint(name: u8) -> Endpoint {
        Endpoint { addresses: vec![format!("10.0.0.{name}")], ..Endpoint::default() }
    }

    fn slice(name: usize, endpoints: &[u8]) -> Arc<EndpointSlice> {
        let mut slice =
            EndpointSlice { endpoints: endpoints.iter().copied().map(endpoint).collect(), ..EndpointSlice::default() };
        slice.metadata.name = Some(name.to_string());
        Arc::new(slice)
    }

    fn wanted(endpoints: impl IntoIterator<Item = u8>) -> BTreeMap<EndpointKey, Endpoint> {
        endpoints.into_iter().map(endpoint).map(|endpoint| (key_of_endpoint(&endpoint), endpoint)).collect()
    }

    fn placed(slices: &[Arc<EndpointSlice>], wanted: BTreeMap<EndpointKey, Endpoint>) -> SliceWrites {
        place(slices, wanted, &BTreeMap::new(), MAX, EndpointSlice::default)
    }

    #[test]
    fn a_new_endpoint_goes_where_it_costs_one_write() {
        let slices = [slice(0, &[1, 2, 3]), slice(1, &[4, 5, 6, 7])];
        let fuller = placed(&slices, wanted(1..=8));
        assert_eq!((fuller.update.len(), fuller.update[0].metadata.name.as_deref()), (1, Some("1")));
        let changing = placed(&slices, wanted([1, 2, 8, 4, 5, 6, 7]));
        assert_eq!((changing.update.len(), changing.update[0].metadata.name.as_deref()), (1, Some("0")));
        assert_eq!(placed(&slices, wanted(1..=7)), SliceWrites::default());
    }

    proptest! {
        #[test]
        fn every_endpoint_is_in_exactly_one_slice_within_its_limit(
            there in prop::collection::vec(prop::collection::vec(0..30_u8, 0..=MAX), 0..5),
            names in prop::collection::btree_set(0..30_u8, 0..30),
        ) {
            let mut seen = BTreeSet::new();
            let slices: Vec<_> = there.iter().enumerate().map(|(index, names)| {
                let names: Vec<_> = names.iter().copied().filter(|name| seen.insert(*name)).collect();
                slice(index, &names)
            }).collect();
            let writes = placed(&slices, wanted(names.iter().copied()));
            let written = |slice: &EndpointSlice| {
                let names = writes.update.iter().map(|slice| &slice.metadata.name);
                names.chain(writes.delete.iter().map(|slice| &slice.metadata.name)).any(|name| *name == slice.metadata.name)
            };
            let kept = slices.iter().map(AsRef::as_ref).filter(|slice| !written(slice));
            let after: Vec<_> = kept.chain(&writes.update).chain(&writes.create).collect();
            let mut held: Vec<_> = after.iter().flat_map(|slice| &slice.endpoints).map(key_of_endpoint).collect();
            held.sort();
            prop_assert_eq!(held, wanted(names).into_keys().collect::<Vec<_>>());
            prop_assert!(after.iter().all(|slice| slice.endpoints.len() <= MAX));
        }
    }
}
