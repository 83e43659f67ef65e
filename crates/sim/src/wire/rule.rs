use coracle_cluster::{Requester, RequesterKind};
use coracle_meta::ResourcePath;

use super::asked::Asked;
use super::effect::Effect;
use crate::named::is_named;

/// An effect on the selected requests and watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which requests and watches.
    pub selector: Selector,
    /// What happens to them.
    pub effect: Effect,
}

/// Identifies a rule of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub(super) u64);

/// Selects requests; a field that is `None` selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Who sends them.
    pub from: Senders,
    /// The verb.
    pub verb: Option<String>,
    /// The plural of the resource.
    pub resource: Option<String>,
    /// The subresource; empty selects the requests without one.
    pub subresource: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The name of the object, or with a `*` at the end, what the name begins with.
    pub name: Option<String>,
    /// Which of the requests that the other fields select. If it is present, the wire counts them, and informs its
    /// observer of each.
    pub turns: Option<Turns>,
}

/// A range of requests, in the order in which they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The first, counted from 1 since the rule was added.
    pub first: u64,
    /// How many; `None` for all that follow.
    pub count: Option<u64>,
}

impl Turns {
    /// All requests.
    pub const ALL: Self = Self { first: 1, count: None };

    /// Whether a request is in the range, if this many were selected up to it. The range of all includes watches that
    /// were opened before the rule was added.
    pub(super) fn includes(self, selected: u64) -> bool {
        let begins = self.first <= 1 || selected >= self.first;
        begins && self.count.is_none_or(|count| selected > 0 && selected < self.first.saturating_add(count))
    }
}

/// Selects who sends requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Senders {
    /// All.
    #[default]
    All,
    /// The components of the control plane, and the simulated nodes.
    Components,
    /// Those with this component name, user name, or first product of the user agent. The name of a component includes
    /// its parts: `controller-manager` the controllers, and `kubelet` the nodes.
    Named(String),
    /// One start of a component.
    Instance(String, u64),
}

impl Rule {
    /// An effect on everything that these send.
    pub fn from(from: Senders, effect: Effect) -> Self {
        Self { selector: Selector { from, ..Selector::default() }, effect }
    }

    /// Whether its effect is possible for a request.
    pub(super) fn may_strike(&self, asked: &Asked) -> bool {
        self.effect != Effect::Conflict || asked.is_conditional
    }
}

impl Senders {
    /// Whether they may include a requester; its user and its user agent are not known.
    pub(super) fn may_select(&self, requester: &Requester) -> bool {
        match self {
            Self::All | Self::Named(_) => true,
            Self::Components => requester.kind == RequesterKind::Component,
            Self::Instance(name, number) => *requester.name == **name && requester.instance.number() == *number,
        }
    }

    fn select(&self, asked: &Asked) -> bool {
        match self {
            Self::All => true,
            Self::Components | Self::Instance(..) => self.may_select(&asked.requester),
            Self::Named(name) => {
                let is_part =
                    || asked.requester.kind == RequesterKind::Component && is_part(&asked.requester.name, name);
                [&*asked.requester.name, &asked.user, &asked.agent].contains(&name.as_str()) || is_part()
            }
        }
    }
}

/// Whether `controller-manager/replicaset` is a part of `controller-manager`.
fn is_part(name: &str, component: &str) -> bool {
    name.strip_prefix(component).is_some_and(|rest| rest.starts_with('/'))
}

impl Selector {
    /// Whether it selects a request. This does not read `turns`.
    pub fn selects(&self, asked: &Asked) -> bool {
        self.differences(asked).all(|differs| !differs)
    }

    /// How many of the fields do not match a request.
    pub(super) fn distance(&self, asked: &Asked) -> usize {
        self.differences(asked).filter(|differs| *differs).count()
    }

    fn differences(&self, asked: &Asked) -> impl Iterator<Item = bool> {
        let differs = |wanted: &Option<String>, part: fn(&ResourcePath) -> &str| match wanted {
            None => false,
            Some(wanted) => asked.at.as_deref().is_none_or(|at| part(at) != wanted),
        };
        let resource =
            differs(&self.resource, |at| &at.resource.resource) || differs(&self.subresource, |at| &at.subresource);
        [
            !self.from.select(asked),
            self.verb.as_ref().is_some_and(|verb| *verb != asked.verb),
            resource,
            differs(&self.namespace, |at| &at.namespace),
            self.name.as_ref().is_some_and(|wanted| !is_named(asked.name(), wanted)),
        ]
        .into_iter()
    }
}
