mod faults;
mod written;

use std::collections::BTreeSet;
use std::path::Path;

use coracle_yaml::{Location, Spanned};
use serde_json::Value;

use self::faults::FaultPlace;
use self::written::NeedsName;
use coracle_release::Release;

use super::{DocumentKind, Known, Problem, Vocabulary};
use crate::broken_controller::BROKEN_CONTROLLERS;
use crate::file::{
    Assert, Invariant, Nodes, Operation, Part, Patch, RequestCount, Rollout, RolloutAction, Scenario, Update,
};
use crate::manifests::manifests_of;
use crate::mode::Mode;
use crate::taint::TaintChange;
use crate::word::{did_you_mean, unknown_word};
use crate::word_lists::{API_VERSION, PROPAGATION_POLICIES, WRITE_VERBS};

/// Checks operations that could be parsed.
pub(crate) struct Checker<'a> {
    pub(crate) path: &'a Path,
    /// The text of the file.
    pub(crate) text: &'a str,
    pub(crate) vocabulary: &'a dyn Vocabulary,
    pub(crate) known: Known,
}

impl Checker<'_> {
    fn problem(&self, place: Location, message: impl Into<String>) -> Problem {
        Problem { file: self.path.to_owned(), line: place.line(), column: place.column(), message: message.into() }
    }

    /// All problems of a scenario; of an operation, an expectation or a fault the first one.
    pub(crate) fn problems(&self, scenario: &Scenario) -> Vec<Problem> {
        let spec = &scenario.spec;
        let head = [
            self.word(&scenario.api_version, &[API_VERSION], "apiVersion"),
            self.word(&scenario.kind, &[DocumentKind::Scenario.name()], "kind"),
            self.mode(spec.cluster.mode.as_ref()),
            self.release(spec.cluster.kubernetes.as_ref()),
            self.nodes(spec.cluster.nodes.location, &spec.cluster.nodes.value),
        ];
        head.into_iter()
            .chain(spec.cluster.own_informers.iter().map(|name| self.part_with_informers(name)))
            .chain(spec.always.iter().chain(&spec.never).map(|invariant| self.invariant(invariant)))
            .chain(spec.eventually.iter().map(|invariant| self.at_the_end(invariant)))
            .chain(spec.faults.iter().map(|fault| self.fault(&fault.value, FaultPlace::List)))
            .chain(spec.requests.iter().map(|requests| self.requests(requests)))
            .chain(spec.steps.iter().flat_map(|step| &step.operations).map(|operation| self.operation(operation)))
            .filter_map(Result::err)
            .collect()
    }

    fn mode(&self, mode: Option<&Spanned<String>>) -> Result<(), Problem> {
        let Some(mode) = mode else { return Ok(()) };
        mode.value.parse::<Mode>().map(drop).map_err(|why| self.problem(mode.location, why.to_string()))
    }

    fn release(&self, version: Option<&Spanned<String>>) -> Result<(), Problem> {
        let Some(version) = version else { return Ok(()) };
        let known = Release::all().any(|release| release.version() == version.value);
        let why = || {
            Release::named(&version.value).err().map_or_else(
                || format!("{:?} has more than the minor version of a release, such as 1.36", version.value),
                |error| error.to_string(),
            )
        };
        if known { Ok(()) } else { Err(self.problem(version.location, why())) }
    }

    fn at_the_end(&self, invariant: &Spanned<Invariant>) -> Result<(), Problem> {
        match &invariant.value.since {
            Some(since) => Err(self.problem(since.location, "`eventually` is about the end, and takes no `since`")),
            None => self.invariant(invariant),
        }
    }

    fn requests(&self, requests: &RequestCount) -> Result<(), Problem> {
        self.word(&requests.verb, WRITE_VERBS, "verb")?;
        let plurals = self.vocabulary.plurals();
        self.one_of(&requests.resource, plurals.iter().chain(self.known.custom.values()), "resource")?;
        if requests.count.is_some() && requests.at_most.is_some() {
            return Err(self.problem(requests.verb.location, "`count` and `atMost` exclude each other"));
        }
        if let Some(since) = &requests.since {
            self.step(since)?;
        }
        self.sender(&requests.by)
    }

    /// The name of a step.
    fn step(&self, name: &Spanned<String>) -> Result<(), Problem> {
        let steps: Vec<&str> = self.known.steps.iter().map(String::as_str).collect();
        self.word(name, &steps, "step")
    }

    /// The name of a part of a component, or of a user.
    fn sender(&self, by: &Spanned<String>) -> Result<(), Problem> {
        let mut senders = self.vocabulary.senders();
        senders.extend(
            self.known.nodes.iter().flat_map(|node| [format!("kubelet/{node}"), format!("kubelet/{node}/pods")]),
        );
        senders.extend(self.known.users.iter().cloned());
        senders.extend(BROKEN_CONTROLLERS.iter().map(|name| format!("toy/{name}")));
        senders.push("scenario".to_owned());
        if by.value.starts_with("system:") {
            return Ok(());
        }
        self.one_of(by, senders.iter(), "sender")
    }

    /// Like [`word`](Self::word), if there are too many valid words to list.
    fn one_of<'w>(
        &self,
        found: &Spanned<String>,
        valid: impl Iterator<Item = &'w String> + Clone,
        what: &str,
    ) -> Result<(), Problem> {
        if valid.clone().any(|word| *word == found.value) {
            return Ok(());
        }
        let hint = did_you_mean(&found.value, valid.map(String::as_str));
        Err(self.problem(found.location, format!("unknown {what} `{}`{hint}", found.value)))
    }

    /// A simulated node, which can be stopped and partitioned.
    fn simulated(&self, node: &Spanned<String>) -> Result<(), Problem> {
        self.one_of(node, self.known.nodes.iter(), "simulated node")
    }

    /// A node of the cluster: a simulated one, or only a Node object.
    fn node(&self, place: Location, node: &str) -> Result<(), Problem> {
        let node = Spanned::new(node.to_owned(), place);
        self.one_of(&node, self.known.nodes.iter().chain(&self.known.node_objects), "node")
    }

    pub(crate) fn operation(&self, operation: &Spanned<Operation>) -> Result<(), Problem> {
        let place = operation.location;
        match &operation.value {
            Operation::Create(create) => {
                create.owned_by.iter().try_for_each(|owner| self.known_name(owner))?;
                self.resource(place, create.resource.as_ref(), create.file.as_ref())
            }
            Operation::Apply(apply) if apply.refused && apply.force => {
                Err(self.problem(place, "what is forced is not refused: `refused` needs `force: false`"))
            }
            Operation::Apply(apply) => self.resource(place, apply.resource.as_ref(), apply.file.as_ref()),
            Operation::Get(get) => self.reference(place, &get.reference, NeedsName::Yes),
            Operation::Update(update) => self.update(update),
            Operation::Patch(patch) => self.patch(place, patch),
            Operation::Scale(scale) => self.reference(place, &scale.reference, NeedsName::Yes),
            Operation::Delete(delete) => {
                if let Some(policy) = &delete.deletion_propagation_policy {
                    self.word(policy, PROPAGATION_POLICIES, "deletionPropagationPolicy")?;
                }
                self.chosen(place, &delete.reference)
            }
            Operation::Wait(wait) => {
                if let Some(selector) = &wait.selector {
                    self.selector(selector)?;
                }
                if wait.name.is_none() && wait.selector.is_none() {
                    return Err(self.problem(place, "`wait` needs a `name` or a `selector`"));
                }
                self.wait(wait)
            }
            Operation::Assert(assert) | Operation::Error(assert) => self.assert(place, assert),
            Operation::Taint(taint) => {
                self.node(taint.node.location, &taint.node.value)?;
                self.taint(&taint.taint)
            }
            Operation::Evict(evict) => self.chosen(place, &evict.reference),
            Operation::Rollout(rollout) => self.rollout(place, rollout),
            Operation::Cordon(on) | Operation::Uncordon(on) => self.node(on.node.location, &on.node.value),
            Operation::Drain(drain) => self.node(place, &drain.node),
            Operation::Sleep(_) => Ok(()),
            Operation::Partition(on) => self.simulated(&on.node),
            Operation::Kill(Part { toy: Some(_), .. }) => {
                Err(self.problem(place, "`kill` needs either `component` or `node`"))
            }
            Operation::Fault(fault) => self.fault(fault, FaultPlace::Step),
            Operation::Heal(heal) => self.heal(place, heal),
            Operation::Kill(part) | Operation::Stop(part) | Operation::Start(part) => self.part(place, part),
        }
    }

    fn update(&self, update: &Update) -> Result<(), Problem> {
        self.known_name(&update.from)?;
        match (&update.resource, self.known.bound.get(&update.from.value)) {
            (Some(change), Some(Some((api_version, kind)))) => {
                self.fits(change.location, api_version, kind, &Value::Object(change.value.clone()))
            }
            _ => Ok(()),
        }
    }

    fn patch(&self, place: Location, patch: &Patch) -> Result<(), Problem> {
        if patch.selector.is_none() && patch.resource.value.pointer("/metadata/name").is_none() {
            return Err(self.problem(place, "`patch` needs `metadata.name` in its resource, or a `selector`"));
        }
        if let Some(selector) = &patch.selector {
            self.selector(selector)?;
        }
        let (api_version, kind) = self.kind_of(&patch.resource)?;
        self.stored(patch.resource.location, api_version, kind)?;
        match patch.subresource.as_deref() {
            // The scale subresource has a kind of its own.
            Some("scale") => Ok(()),
            _ => self.fits(patch.resource.location, api_version, kind, &patch.resource.value),
        }
    }

    fn taint(&self, taint: &Spanned<String>) -> Result<(), Problem> {
        taint.value.parse::<TaintChange>().map(drop).map_err(|why| self.problem(taint.location, why))
    }

    fn rollout(&self, place: Location, rollout: &Rollout) -> Result<(), Problem> {
        let kinds: &[&str] = match rollout.action {
            RolloutAction::Pause | RolloutAction::Resume => &["Deployment"],
            RolloutAction::Undo | RolloutAction::Restart => &["Deployment", "StatefulSet", "DaemonSet"],
        };
        self.word(&rollout.reference.kind, kinds, "kind of a rollout")?;
        self.reference(place, &rollout.reference, NeedsName::Yes)
    }

    /// Nodes need unique names, and valid taints and capacities.
    fn nodes(&self, place: Location, nodes: &Nodes) -> Result<(), Problem> {
        let shapes = nodes.shapes();
        let names: BTreeSet<_> = shapes.iter().map(|shape| &shape.name).collect();
        if names.len() < shapes.len() {
            return Err(self.problem(place, "two nodes have one name"));
        }
        for shape in &shapes {
            for taint in &shape.taints {
                match taint.parse::<TaintChange>() {
                    Ok(change) if !change.removes => {}
                    Ok(_) => return Err(self.problem(place, format!("`{taint}` takes a taint off"))),
                    Err(why) => return Err(self.problem(place, why)),
                }
            }
            for (name, amount) in &shape.capacity {
                if amount.parse::<coracle_meta::Quantity>().is_err() {
                    return Err(
                        self.problem(place, format!("`{amount}` of {name} is not a quantity such as `2` or `4Gi`"))
                    );
                }
            }
            for manifest in manifests_of(shape) {
                let wrong = |why| self.problem(place, format!("{}: {why}", manifest.path));
                manifest.check(&shape.name).map_err(wrong)?;
            }
        }
        Ok(())
    }

    /// The name that a step gave to an object.
    fn known_name(&self, name: &Spanned<String>) -> Result<(), Problem> {
        if self.known.bound.contains_key(&name.value) {
            return Ok(());
        }
        let hint = did_you_mean(&name.value, self.known.bound.keys().map(String::as_str));
        Err(self.problem(name.location, format!("no step gives an object the name `{}`{hint}", name.value)))
    }

    fn selector(&self, selector: &Spanned<String>) -> Result<(), Problem> {
        let parsed = coracle_meta::LabelSelector::parse(&selector.value);
        parsed.map(|_| ()).map_err(|why| self.problem(selector.location, format!("bad selector: {why}")))
    }

    fn assert(&self, place: Location, assert: &Assert) -> Result<(), Problem> {
        if assert.still && assert.timeout.is_some() {
            return Err(self.problem(place, "`still` waits for nothing: it takes no `timeout`"));
        }
        match (&assert.resource, &assert.cel) {
            (Some(object), None) => self.partial(object),
            (None, Some(cel)) => self.expression(cel),
            _ => Err(self.problem(place, "needs either `resource` or `cel`")),
        }
    }

    fn invariant(&self, invariant: &Spanned<Invariant>) -> Result<(), Problem> {
        if let Some(since) = &invariant.value.since {
            self.step(since)?;
        }
        match (&invariant.value.resource, &invariant.value.cel) {
            (Some(object), None) => self.partial(object),
            (None, Some(cel)) => self.expression(cel),
            _ => Err(self.problem(invariant.location, "needs either `resource` or `cel`")),
        }
    }

    fn expression(&self, cel: &Spanned<String>) -> Result<(), Problem> {
        let custom = self.known.custom.values().map(|plural| (plural.clone(), None));
        let names = self.known.bound.clone().into_iter().chain(custom).collect();
        match self.vocabulary.expression_problem(&cel.value, &names) {
            Some(why) => Err(self.problem(cel.location, format!("bad expression: {why}"))),
            None => Ok(()),
        }
    }

    fn part(&self, place: Location, part: &Part) -> Result<(), Problem> {
        match (&part.component, &part.node, &part.toy) {
            (Some(component), None, None) if component.value == "store" => Ok(()),
            (Some(component), None, None) if component.value.starts_with("kubelet") => {
                let message = "`kubelet` is all nodes: use `node` with the name of one".to_owned();
                Err(self.problem(component.location, message))
            }
            (Some(component), None, None) => self.component(component),
            (None, Some(node), None) => self.simulated(node),
            (None, None, Some(toy)) => self.word(toy, BROKEN_CONTROLLERS, "toy"),
            _ => Err(self.problem(place, "needs one of `component`, `node` and `toy`")),
        }
    }

    fn word(&self, found: &Spanned<String>, valid: &[&str], what: &str) -> Result<(), Problem> {
        unknown_word(&found.value, valid, what).map_or(Ok(()), |why| Err(self.problem(found.location, why)))
    }
}
