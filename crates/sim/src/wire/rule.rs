use coracle_cluster::RequesterKind;

use super::asked::Asked;
use super::effect::Effect;

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
    /// The namespace.
    pub namespace: Option<String>,
    /// The name of the object in the path.
    pub name: Option<String>,
}

/// Selects who sends requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Senders {
    /// All.
    #[default]
    All,
    /// The components of the control plane, and the simulated nodes.
    Components,
    /// Those with this component name, user name, or product of the user agent.
    Named(String),
    /// One start of a component.
    Instance(String, u64),
}

impl Rule {
    /// An effect on everything that these send.
    pub fn from(from: Senders, effect: Effect) -> Self {
        Self { selector: Selector { from, ..Selector::default() }, effect }
    }
}

impl Senders {
    fn select(&self, asked: &Asked) -> bool {
        match self {
            Self::All => true,
            Self::Components => asked.requester.kind == RequesterKind::Component,
            Self::Named(name) => [&*asked.requester.name, &asked.user, &asked.agent].contains(&name.as_str()),
            Self::Instance(name, number) => {
                *asked.requester.name == **name && asked.requester.instance.number() == *number
            }
        }
    }
}

impl Selector {
    /// Whether it selects a request.
    pub fn selects(&self, asked: &Asked) -> bool {
        let is_path = |wanted: &Option<String>, part: fn(&coracle_meta::ResourcePath) -> &str| match wanted {
            None => true,
            Some(wanted) => asked.at.as_deref().is_some_and(|at| part(at) == wanted),
        };
        self.from.select(asked)
            && self.verb.as_ref().is_none_or(|verb| *verb == asked.verb)
            && is_path(&self.resource, |at| &at.resource.resource)
            && is_path(&self.namespace, |at| &at.namespace)
            && is_path(&self.name, |at| &at.name)
    }
}
