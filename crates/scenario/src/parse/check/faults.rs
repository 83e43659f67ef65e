//! Faults.

use std::collections::BTreeSet;

use coracle_expression::Expression;
use coracle_schema::Table;
use coracle_sim::ChangeKind;
use coracle_yaml::{Location, Spanned};

use super::Checker;
use crate::component_words::{COMPONENTS, controllers, nearest_component};
use crate::faulty_server::FaultyServer;
use crate::file::{Fault, FaultEvent, FaultMoment, Heal};
use crate::parse::Problem;
use crate::path::Position;
use crate::placed::place_in;
use crate::word::did_you_mean;
use crate::word_lists::{MOMENTS, REQUEST_VERBS};
use crate::written_fault::{Part, WrittenFault, plural_of, read_fault};

/// Why a fault of a running cluster takes no step.
const NO_STEPS: &str = "a running cluster has no steps: use `after` or `cel`, or a duration in `for`";

/// Why a fault of the store does not act on this one.
const ONLY_IN_MEMORY: &str = "this store is on disk or in an etcd, and the only fault of it is `store: compact`: for the \
                              others, start the server with `up --ephemeral` or `apiserver --store memory`";

/// The variables of an expression over a change.
const CHANGED: [&str; 2] = ["object", "oldObject"];

/// The `apiVersion` and the kind, if one group has the kind. The fields of other kinds are not checked.
fn kind_of_event(kind: &str) -> Option<(String, String)> {
    let rows =
        Table::newest().resources().iter().filter(|row| row.kind.kind == kind && row.stored_as == row.resource());
    let versions: BTreeSet<String> = rows.map(|row| row.kind.api_version()).collect();
    let [version] = &versions.into_iter().collect::<Vec<_>>()[..] else { return None };
    Some((version.clone(), kind.to_owned()))
}

/// How a fault of a running cluster names a custom kind, for a message about a kind or resource that is not known.
fn custom_hint(message: &str, is_in: FaultPlace) -> &'static str {
    let is_unknown = ["unknown kind", "unknown resource"].iter().any(|unknown| message.starts_with(unknown));
    let applies = is_unknown && matches!(is_in, FaultPlace::Running(_)) && !message.contains("did you mean");
    if applies { "; a custom resource is named as PLURAL.GROUP, such as `widgets.example.com`" } else { "" }
}

/// Where a fault is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultPlace {
    /// In the list of the scenario.
    List,
    /// In a step, with which it begins.
    Step,
    /// In a list for a running cluster, which has no steps and where any requester may come later.
    Running(FaultyServer),
}

impl FaultPlace {
    /// The running server.
    fn server(self) -> Option<FaultyServer> {
        match self {
            Self::Running(server) => Some(server),
            Self::List | Self::Step => None,
        }
    }
}

impl Checker<'_> {
    /// A fault for a running cluster, or for an API server alone.
    pub(crate) fn running_fault(&self, fault: &Fault, server: FaultyServer) -> Result<(), Problem> {
        self.fault(fault, FaultPlace::Running(server))
    }

    /// A fault of the list of a scenario.
    pub(crate) fn listed_fault(&self, fault: &Fault) -> Result<(), Problem> {
        self.fault(fault, FaultPlace::List)
    }

    pub(super) fn fault(&self, fault: &Fault, is_in: FaultPlace) -> Result<(), Problem> {
        if let Some(when) = &fault.when {
            if when.value.revision.is_some() && when.value.revisions.is_some() {
                return Err(self.problem(when.location, "`revision` and `revisions` exclude each other"));
            }
            self.fault_moment(&when.value, is_in)?;
        }
        let read = read_fault(fault, &self.known.custom);
        let written = read.map_err(|bad| {
            let message = format!("{}{}", bad.message, custom_hint(&bad.message, is_in));
            self.problem(self.below(bad.place, &bad.path), message)
        })?;
        self.acts_alone(&written, fault.action.location)?;
        if let Some(path) = &written.store_in_memory
            && is_in.server().is_some_and(|server| !server.has_store_in_memory)
        {
            return Err(self.problem(self.below(fault.action.location, path), ONLY_IN_MEMORY));
        }
        let WrittenFault { until, requester, part, until_path, .. } = &written;
        if let Some((path, name)) = requester {
            let place = self.below(fault.action.location, path);
            self.requester(&Spanned::new(name.clone(), place), is_in)?;
        }
        if let Some((path, part)) = part {
            self.part_of_a_fault(self.below(fault.action.location, path), part, is_in)?;
        }
        if let (Some(step), Some(lasts)) = (until, &fault.lasts) {
            let place = self.below(lasts.location, until_path);
            if matches!(is_in, FaultPlace::Running(_)) {
                return Err(self.problem(place, NO_STEPS));
            }
            self.step(&Spanned::new(step.clone(), place))?;
        }
        Ok(())
    }

    /// Refuses a fault that acts alone on what shares its informers.
    fn acts_alone(&self, written: &WrittenFault, action: Location) -> Result<(), Problem> {
        let Some((path, name)) = written.alone().filter(|(_, name)| self.known.sharing.contains(*name)) else {
            return Ok(());
        };
        let all = name.split('/').next().unwrap_or_default();
        let message = format!(
            "`{name}` shares its informers with others, so no fault acts on it alone: name `{all}`, or start the \
             cluster with a fault of `{name}` in `--faults`"
        );
        Err(self.problem(self.below(action, path), message))
    }

    /// A component or a node that a fault acts on. A running cluster may get it later.
    fn part_of_a_fault(&self, place: Location, part: &Part, is_in: FaultPlace) -> Result<(), Problem> {
        let is_missing = |what: &str, name: &str| {
            let why = "faults of requests, watches, requesters and the store apply to it";
            Err(self.problem(place, format!("an API server alone has no {what} `{name}`: {why}")))
        };
        let server = is_in.server();
        match part {
            _ if server.is_some_and(|server| server.has_components) => Ok(()),
            Part::Component(name) if server.is_some() => is_missing("component", name),
            Part::Node(name) if server.is_some() => is_missing("simulated node", name),
            Part::Component(name) => self.component(&Spanned::new(name.clone(), place)),
            Part::Node(name) => self.simulated(&Spanned::new(name.clone(), place)),
        }
    }

    /// The name of a component, a controller or a simulated node.
    pub(super) fn component(&self, name: &Spanned<String>) -> Result<(), Problem> {
        let mut others = self.node_components();
        others.extend(self.known.components.iter().cloned());
        if COMPONENTS.contains(&name.value.as_str())
            || controllers().any(|known| known == name.value)
            || others.contains(&name.value)
        {
            return Ok(());
        }
        let hint =
            nearest_component(&name.value, &others).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let message = format!(
            "unknown component `{}`, expected one of {}, or a controller such as controller-manager/replicaset{hint}",
            name.value,
            COMPONENTS.join(", ")
        );
        Err(self.problem(name.location, message))
    }

    /// The name of a controller or a node, which can have informers of its own.
    pub(super) fn part_with_informers(&self, name: &Spanned<String>) -> Result<(), Problem> {
        self.component(name)?;
        if name.value.contains('/') {
            return Ok(());
        }
        let message = format!("`{}` has informers of its own: name a controller or a node", name.value);
        Err(self.problem(name.location, message))
    }

    /// The simulated nodes as components.
    fn node_components(&self) -> Vec<String> {
        self.known.nodes.iter().map(|node| format!("kubelet/{node}")).collect()
    }

    /// The location of a part of the value that begins at `place`.
    fn below(&self, place: Location, path: &[Position]) -> Location {
        place_in(self.text, place, path).unwrap_or(place)
    }

    fn fault_moment(&self, when: &FaultMoment, is_in: FaultPlace) -> Result<(), Problem> {
        match (&when.step, is_in) {
            (Some(step), FaultPlace::Step) => {
                let message = "a fault in a step begins with it, and takes no `step`";
                return Err(self.problem(step.location, message));
            }
            (Some(step), FaultPlace::Running(_)) => return Err(self.problem(step.location, NO_STEPS)),
            (Some(step), FaultPlace::List) => self.step(step)?,
            (None, _) => {}
        }
        when.cel.iter().try_for_each(|cel| self.expression(cel))?;
        when.event.iter().try_for_each(|event| self.fault_event(&event.value))?;
        when.by.iter().try_for_each(|by| self.requester(by, is_in))?;
        when.verb.iter().try_for_each(|verb| self.word(verb, REQUEST_VERBS, "verb"))?;
        when.moment.iter().try_for_each(|moment| self.word(moment, &MOMENTS, "moment"))?;
        if let Some(resource) = &when.resource {
            let plural = resource.value.split('/').next().unwrap_or_default().to_owned();
            let plural = Spanned::new(plural, resource.location);
            let plurals = self.vocabulary.plurals();
            let known = self.one_of(&plural, plurals.iter().chain(self.known.custom.values()), "resource");
            known.map_err(|problem| {
                let message = format!("{}{}", problem.message, custom_hint(&problem.message, is_in));
                Problem { message, ..problem }
            })?;
        }
        Ok(())
    }

    fn fault_event(&self, event: &FaultEvent) -> Result<(), Problem> {
        let kind = &event.kind.value;
        plural_of(kind, &self.known.custom).map_err(|why| self.problem(event.kind.location, why))?;
        event.change.iter().try_for_each(|change| self.word(change, &ChangeKind::ALL.map(ChangeKind::word), "type"))?;
        let Some(cel) = &event.cel else { return Ok(()) };
        let bad = |why: String| self.problem(cel.location, format!("bad expression: {why}"));
        let expression = Expression::compile(&cel.value).map_err(|error| bad(error.to_string()))?;
        if let Some(other) = expression.variables().iter().find(|name| !CHANGED.contains(&name.as_str())) {
            let hint = did_you_mean(other, CHANGED.into_iter());
            return Err(bad(format!("an event has `object` and `oldObject`, and not `{other}`{hint}")));
        }
        let of = kind_of_event(kind);
        let names = CHANGED.into_iter().map(|name| (name.to_owned(), of.clone())).collect();
        self.vocabulary.expression_problem(&cel.value, &names).map_or(Ok(()), |why| Err(bad(why)))
    }

    /// Who sends requests, as the wire knows it: a component, a controller, a node, or a user.
    fn requester(&self, name: &Spanned<String>, is_in: FaultPlace) -> Result<(), Problem> {
        let valid = self.requesters();
        if name.value.starts_with("system:") || valid.contains(&name.value) {
            return Ok(());
        }
        if let Some((component, part)) = name.value.split_once('/')
            && self.vocabulary.senders().contains(&name.value)
        {
            let message = format!("`{part}` is a part of `{component}` without requests of its own: use `{component}`");
            return Err(self.problem(name.location, message));
        }
        if matches!(is_in, FaultPlace::Running(_)) {
            return Ok(());
        }
        let hint =
            nearest_component(&name.value, &valid).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Err(self.problem(name.location, format!("unknown requester `{}`{hint}", name.value)))
    }

    fn requesters(&self) -> Vec<String> {
        let components = COMPONENTS.into_iter().chain(["scenario"]).map(str::to_owned).chain(controllers());
        let toys = crate::broken_controller::BROKEN_CONTROLLERS.iter().map(|toy| format!("toy/{toy}"));
        let added = self.known.components.iter().chain(&self.known.users).cloned();
        components.chain(self.node_components()).chain(toys).chain(added).collect()
    }

    pub(super) fn heal(&self, place: Location, heal: &Heal) -> Result<(), Problem> {
        match (&heal.node, &heal.fault) {
            (Some(node), None) => self.simulated(node),
            (None, Some(fault)) => self.one_of(fault, self.known.faults.iter(), "name of a fault"),
            _ => Err(self.problem(place, "needs either `node` or `fault`")),
        }
    }
}
