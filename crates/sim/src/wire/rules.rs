use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{AsOf, Requester};
use tokio::time::Instant;

use super::asked::Asked;
use super::effect::{Effect, Leg};
use super::rule::{Rule, RuleId};
use super::watermark::Mark;

/// How long a server with stale caches waits before it answers a consistent read from the store, or refuses a read of
/// a newer revision. In Kubernetes: `blockTimeout` of the watch cache.
const CONSISTENT_READ_WAIT: Duration = Duration::from_secs(3);

/// The rules of a wire, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    all: Vec<(RuleId, Rule)>,
    next: u64,
    /// Of the rules with turns.
    counts: BTreeMap<RuleId, Selected>,
}

/// The requests that a rule with turns has met.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// How many its selector has selected.
    pub selected: u64,
    /// How many matched all of its fields but one.
    pub near: u64,
    /// The last of these.
    pub nearest: Option<Arc<Asked>>,
    /// How many its selector has selected, although they have no resource version, so that they cannot conflict.
    pub unconditional: u64,
    /// The last of these.
    pub last_unconditional: Option<Arc<Asked>>,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    /// How long it is on its way.
    pub(super) there: Duration,
    /// How long its answer is on its way.
    pub(super) back: Duration,
    /// Why it fails.
    pub(super) loss: Option<Loss>,
    /// The status code of the failure that is its answer.
    pub(super) refusal: Option<u16>,
    /// The revision at which a read is answered.
    pub(super) as_of: Option<AsOf>,
    /// Whether another writer changes the object before.
    pub(super) conflicts: bool,
}

/// Why a request fails on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    NoRoute,
    Message(Leg),
}

/// The arrival of an event of a watch at the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) at: Instant,
    /// The revision of its object, or of a bookmark; `None` if it is not known.
    pub(super) revision: Option<i64>,
    /// What it is.
    pub(super) mark: Mark,
}

/// When an event is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// At this instant.
    At(Instant),
    /// Not with these rules.
    NotYet,
}

/// How a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchEnding {
    Closed,
    Gone,
}

impl Rules {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether no rule can select a request of a requester, and none counts requests that it nearly selects.
    pub(super) fn ignore(&self, requester: &Requester) -> bool {
        let may_select = |rule: &Rule| rule.selector.from.may_select(requester);
        !self.is_counting() && !self.all.iter().any(|(_, rule)| may_select(rule))
    }

    /// The rules with one more.
    pub(super) fn add(&mut self, rule: Rule) -> RuleId {
        self.next += 1;
        let id = RuleId(self.next);
        if rule.selector.turns.is_some() {
            self.counts.insert(id, Selected::default());
        }
        self.all.push((id, rule));
        id
    }

    /// Removes a rule and returns it; `None` if there is no such rule.
    pub(super) fn remove(&mut self, id: RuleId) -> Option<Rule> {
        let place = self.all.iter().position(|(known, _)| *known == id)?;
        self.counts.remove(&id);
        Some(self.all.remove(place).1)
    }

    /// The rules, after one more request was sent.
    pub(super) fn count(&mut self, asked: &Arc<Asked>) {
        for (id, rule) in &self.all {
            let Some(count) = self.counts.get_mut(id) else { continue };
            match rule.selector.distance(asked) {
                0 if !rule.may_strike(asked) => {
                    count.unconditional += 1;
                    count.last_unconditional = Some(Arc::clone(asked));
                }
                0 => count.selected += 1,
                1 => {
                    count.near += 1;
                    count.nearest = Some(Arc::clone(asked));
                }
                _ => {}
            }
        }
    }

    /// Whether there are rules with turns.
    pub(super) fn is_counting(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Whether the body of a request has to be read before the request is counted.
    pub(super) fn reads_body(&self, asked: &Asked) -> bool {
        let conflicts = || self.all.iter().any(|(_, rule)| rule.effect == Effect::Conflict);
        (asked.verb == "create" && self.is_counting()) || (asked.is_change() && conflicts())
    }

    /// The requests that a rule with turns has met; `None` for other rules.
    pub(super) fn selected(&self, id: RuleId) -> Option<&Selected> {
        self.counts.get(&id)
    }

    fn effects<'a>(&'a self, asked: &'a Asked) -> impl Iterator<Item = Effect> + 'a {
        self.ruling(asked).map(|(_, effect)| effect)
    }

    fn ruling<'a>(&'a self, asked: &'a Asked) -> impl Iterator<Item = (RuleId, Effect)> + 'a {
        let applies = |id: &RuleId, rule: &Rule| {
            let selected = self.counts.get(id).map_or(0, |count| count.selected);
            let has_its_turn = rule.selector.turns.is_none_or(|turns| turns.includes(selected));
            has_its_turn && rule.may_strike(asked) && rule.selector.selects(asked)
        };
        self.all.iter().filter(move |(id, rule)| applies(id, rule)).map(|(id, rule)| (*id, rule.effect))
    }

    /// The rules with turns that strike a request which was counted last.
    pub(super) fn striking(&self, asked: &Asked) -> Vec<RuleId> {
        let strikes = |effect| match effect {
            Effect::Slow { .. }
            | Effect::Cut
            | Effect::Lose(_)
            | Effect::Refuse(_)
            | Effect::Conflict
            | Effect::Observe => true,
            Effect::Stale(_) => asked.is_read(),
            Effect::Lag(_) | Effect::Hang | Effect::BookmarkOnly | Effect::Close(_) | Effect::Gone(_) => false,
        };
        self.counted(asked).filter(|(_, effect)| strikes(*effect)).map(|(id, _)| id).collect()
    }

    /// The rules with turns that hold an event of a watch.
    pub(super) fn holding(&self, watch: &Asked, arrival: Arrival) -> Vec<RuleId> {
        self.counted(watch).filter(|(_, effect)| holds(*effect, arrival)).map(|(id, _)| id).collect()
    }

    /// The rules with turns that end a watch which was opened at this instant.
    pub(super) fn ending_it(&self, watch: &Asked, opened: Instant) -> Vec<RuleId> {
        self.counted(watch).filter(|(_, effect)| ends(*effect, opened).is_some()).map(|(id, _)| id).collect()
    }

    fn counted<'a>(&'a self, asked: &'a Asked) -> impl Iterator<Item = (RuleId, Effect)> + 'a {
        self.ruling(asked).filter(|(id, _)| self.counts.contains_key(id))
    }

    /// What happens to a request.
    pub(super) fn passage(&self, asked: &Asked) -> Passage {
        let mut passage = Passage::default();
        for effect in self.effects(asked) {
            match effect {
                Effect::Slow { there, back } => {
                    passage.there += there;
                    passage.back += back;
                }
                Effect::Cut => passage.loss = Some(Loss::NoRoute),
                Effect::Lose(leg) => passage.loss = passage.loss.or(Some(Loss::Message(leg))),
                Effect::Refuse(code) => passage.refusal = passage.refusal.or(Some(code)),
                Effect::Conflict => passage.conflicts = true,
                Effect::Stale(_) if !asked.is_read() => {}
                Effect::Stale(_) if asked.is_consistent => passage.there += CONSISTENT_READ_WAIT,
                Effect::Stale(revision) => {
                    let oldest = passage.as_of.map_or(revision, |AsOf(other)| other.min(revision));
                    passage.as_of = Some(AsOf(oldest));
                }
                Effect::Lag(_)
                | Effect::Hang
                | Effect::BookmarkOnly
                | Effect::Close(_)
                | Effect::Gone(_)
                | Effect::Observe => {}
            }
        }
        passage
    }

    /// Whether events of a watch may be delivered later than they arrive.
    pub(super) fn hold(&self, watch: &Asked) -> bool {
        let holds = |effect| {
            matches!(effect, Effect::Lag(_) | Effect::Cut | Effect::Hang | Effect::BookmarkOnly | Effect::Stale(_))
        };
        self.effects(watch).any(holds)
    }

    /// When an event of a watch is delivered.
    pub(super) fn delivery(&self, watch: &Asked, arrival: Arrival) -> Delivery {
        let mut due = arrival.at;
        for effect in self.effects(watch) {
            match effect {
                Effect::Lag(lag) => due += lag,
                other if holds(other, arrival) => return Delivery::NotYet,
                _ => {}
            }
        }
        Delivery::At(due)
    }

    /// Whether the end of a watch overtakes the events that are held. The end does not pass a network that is cut.
    pub(super) fn let_end(&self, watch: &Asked) -> bool {
        self.effects(watch).all(|effect| effect != Effect::Cut)
    }

    /// How a watch that was opened at this instant ends; `None` if it does not.
    pub(super) fn ending(&self, watch: &Asked, opened: Instant) -> Option<WatchEnding> {
        self.effects(watch).find_map(|effect| ends(effect, opened))
    }
}

/// Whether an effect delivers an event of a watch later than it arrives.
fn holds(effect: Effect, arrival: Arrival) -> bool {
    match effect {
        Effect::Lag(_) | Effect::Cut | Effect::Hang => true,
        Effect::BookmarkOnly => arrival.mark != Mark::Bookmark,
        Effect::Stale(stale) => arrival.revision.is_none_or(|revision| revision > stale),
        Effect::Slow { .. }
        | Effect::Lose(_)
        | Effect::Refuse(_)
        | Effect::Conflict
        | Effect::Observe
        | Effect::Close(_)
        | Effect::Gone(_) => false,
    }
}

/// How an effect ends a watch that was opened at this instant; `None` if it does not.
fn ends(effect: Effect, opened: Instant) -> Option<WatchEnding> {
    match effect {
        Effect::Close(before) if opened < before => Some(WatchEnding::Closed),
        Effect::Gone(before) if opened < before => Some(WatchEnding::Gone),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use coracle_cluster::{Body, Instance, User};
    use http::Request;

    use super::super::rule::{Selector, Senders, Turns};
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn asked(uri: &str) -> Asked {
        let mut request = Request::get(uri).header("user-agent", "kube-controller-manager/v1.35.3");
        request.extensions_mut().unwrap().insert(User::new("system:kube-controller-manager", ["g"]));
        Asked::of(
            &Requester::component("controller-manager", Instance::default()),
            &request.body(Body::default()).unwrap(),
        )
    }

    fn rules(effects: impl IntoIterator<Item = Effect>) -> Rules {
        let mut rules = Rules::default();
        for effect in effects {
            rules.add(Rule::from(Senders::All, effect));
        }
        rules
    }

    #[test]
    fn a_request_is_seen_with_sender_verb_resource_and_name() {
        let get = asked("/apis/apps/v1/namespaces/shop/deployments/web?resourceVersion=0");
        let at = get.at.as_deref().unwrap();
        let seen = [&*get.requester.name, &get.user, &get.agent, &get.verb, &at.resource.resource, &at.name];
        assert_eq!(
            seen,
            [
                "controller-manager",
                "system:kube-controller-manager",
                "kube-controller-manager",
                "get",
                "deployments",
                "web"
            ]
        );
        assert!(!get.is_consistent && get.is_read());
        assert!(asked("/api/v1/pods?watch=true").is_watch());
        assert!(asked("/api/v1/pods?limit=500").is_consistent);
        assert!(!asked("/api/v1/pods?continue=x").is_consistent);
        let version = asked("/version");
        assert_eq!((version.verb.as_str(), version.at, version.is_consistent), ("get", None, true));
    }

    #[test]
    fn a_selector_selects_by_each_of_its_fields() {
        let get = asked("/api/v1/namespaces/shop/pods/web");
        let all = Selector::default();
        let text = |text: &str| Some(text.to_owned());
        for (selector, selects) in [
            (all.clone(), true),
            (Selector { verb: text("get"), ..all.clone() }, true),
            (Selector { verb: text("list"), ..all.clone() }, false),
            (Selector { resource: text("pods"), namespace: text("shop"), name: text("web"), ..all.clone() }, true),
            (Selector { resource: text("nodes"), ..all.clone() }, false),
            (Selector { namespace: text("other"), ..all.clone() }, false),
            (Selector { name: text("other"), ..all.clone() }, false),
            (Selector { from: Senders::Components, ..all.clone() }, true),
            (Selector { from: Senders::Named("controller-manager".into()), ..all.clone() }, true),
            (Selector { from: Senders::Named("system:kube-controller-manager".into()), ..all.clone() }, true),
            (Selector { from: Senders::Named("kube-controller-manager".into()), ..all.clone() }, true),
            (Selector { from: Senders::Named("scheduler".into()), ..all.clone() }, false),
            (Selector { from: Senders::Instance("controller-manager".into(), 0), ..all.clone() }, true),
            (Selector { from: Senders::Instance("controller-manager".into(), 1), ..all }, false),
        ] {
            assert_eq!(selector.selects(&get), selects, "{selector:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn delays_add_up_and_what_holds_wins() {
        let (watch, at) = (asked("/api/v1/pods?watch=true"), Instant::now());
        let arrival = |revision| Arrival { at, revision, mark: Mark::Changed };
        let lags = [Effect::Lag(MILLISECOND), Effect::Lag(MILLISECOND * 2)];
        assert_eq!(rules(lags).delivery(&watch, arrival(None)), Delivery::At(at + MILLISECOND * 3));
        for hold in [Effect::Cut, Effect::Hang, Effect::BookmarkOnly, Effect::Stale(7)] {
            let rules = rules([Effect::Lag(MILLISECOND), hold]);
            assert!(rules.hold(&watch));
            assert_eq!(rules.delivery(&watch, arrival(Some(8))), Delivery::NotYet);
            assert_eq!(rules.let_end(&watch), hold != Effect::Cut);
        }
        assert_eq!(rules([Effect::Stale(7)]).delivery(&watch, arrival(Some(7))), Delivery::At(at));
        assert_eq!(rules([Effect::Stale(7)]).delivery(&watch, arrival(None)), Delivery::NotYet);
        let bookmark = Arrival { mark: Mark::Bookmark, ..arrival(Some(8)) };
        assert_eq!(rules([Effect::BookmarkOnly, lags[0]]).delivery(&watch, bookmark), Delivery::At(at + MILLISECOND));
        assert_eq!(rules([Effect::BookmarkOnly, Effect::Hang]).delivery(&watch, bookmark), Delivery::NotYet);
        let ends = [Effect::Close(at + MILLISECOND), Effect::Gone(at + MILLISECOND * 2)];
        assert_eq!(rules(ends).ending(&watch, at), Some(WatchEnding::Closed));
        assert_eq!(rules(ends).ending(&watch, at + MILLISECOND), Some(WatchEnding::Gone));
        assert_eq!(rules(ends).ending(&watch, at + MILLISECOND * 2), None);
        assert!(!rules(ends).hold(&watch));
    }

    #[test]
    fn a_stale_requester_reads_the_past_and_writes_as_ever() {
        let stale = rules([Effect::Stale(7), Effect::Stale(5)]);
        let past = Passage { as_of: Some(AsOf(5)), ..Passage::default() };
        assert_eq!(stale.passage(&asked("/api/v1/pods?resourceVersion=0")), past);
        assert_eq!(stale.passage(&asked("/api/v1/pods?watch=true")), past);
        let late = Passage { there: CONSISTENT_READ_WAIT * 2, ..Passage::default() };
        assert_eq!(stale.passage(&asked("/api/v1/pods")), late);
        assert_eq!(stale.passage(&asked("/version")), Passage::default());
        let write = Asked { verb: "create".to_owned(), ..asked("/api/v1/pods") };
        assert_eq!(stale.passage(&write), Passage::default());
    }

    #[test]
    fn a_removed_rule_has_no_effect() {
        let mut rules = rules([]);
        let id = rules.add(Rule::from(Senders::All, Effect::Cut));
        assert_eq!(rules.passage(&asked("/version")).loss, Some(Loss::NoRoute));
        assert!(rules.remove(id).is_some() && rules.remove(id).is_none());
        assert_eq!(rules.passage(&asked("/version")), Passage::default());
    }

    fn counted(rules: &mut Rules, uri: &str) -> (Passage, Vec<RuleId>) {
        let asked = Arc::new(asked(uri));
        rules.count(&asked);
        (rules.passage(&asked), rules.striking(&asked))
    }

    #[test]
    fn turns_choose_requests_by_their_number() {
        let pods = |turns| Selector { resource: Some("pods".to_owned()), turns: Some(turns), ..Selector::default() };
        for (turns, struck) in [
            (Turns::ALL, [true, true, true, true]),
            (Turns { first: 2, count: Some(2) }, [false, true, true, false]),
            (Turns { first: 3, count: None }, [false, false, true, true]),
            (Turns { first: 1, count: Some(1) }, [true, false, false, false]),
        ] {
            let mut rules = rules([]);
            let id = rules.add(Rule { selector: pods(turns), effect: Effect::Refuse(503) });
            for strikes in struck {
                // Requests that are not selected do not count.
                assert_eq!(counted(&mut rules, "/api/v1/nodes"), (Passage::default(), Vec::new()));
                let wanted = Passage { refusal: strikes.then_some(503), ..Passage::default() };
                let striking = if strikes { vec![id] } else { Vec::new() };
                assert_eq!(counted(&mut rules, "/api/v1/pods"), (wanted, striking), "{turns:?}");
            }
            assert_eq!(rules.selected(id).unwrap().selected, 4);
        }
    }

    #[test]
    fn only_a_write_with_a_resource_version_conflicts() {
        let selector = Selector {
            resource: Some("pods".to_owned()),
            turns: Some(Turns { first: 1, count: Some(1) }),
            ..Selector::default()
        };
        let mut rules = rules([]);
        let id = rules.add(Rule { selector, effect: Effect::Conflict });
        let update = Asked { verb: "update".to_owned(), ..asked("/api/v1/namespaces/a/pods/web") };
        assert!(rules.reads_body(&update) && !rules.reads_body(&asked("/api/v1/pods")));
        for (is_conditional, conflicts) in [(false, false), (true, true), (true, false)] {
            let asked = Arc::new(Asked { is_conditional, ..update.clone() });
            rules.count(&asked);
            assert_eq!(rules.passage(&asked), Passage { conflicts, ..Passage::default() });
            assert_eq!(rules.striking(&asked), if conflicts { vec![id] } else { Vec::new() });
        }
        let met = rules.selected(id).unwrap();
        assert_eq!((met.selected, met.near, met.unconditional), (2, 0, 1));
    }

    #[test]
    fn a_rule_with_turns_knows_the_requests_that_it_nearly_selected() {
        let mut rules = rules([]);
        let selector = Selector {
            verb: Some("get".to_owned()),
            resource: Some("pods".to_owned()),
            name: Some("web-*".to_owned()),
            turns: Some(Turns::ALL),
            ..Selector::default()
        };
        let id = rules.add(Rule { selector, effect: Effect::Observe });
        for uri in ["/api/v1/namespaces/a/pods/db-1", "/api/v1/namespaces/a/secrets/db-1", "/version"] {
            counted(&mut rules, uri);
        }
        let met = rules.selected(id).unwrap();
        assert_eq!((met.selected, met.near), (0, 1));
        assert_eq!(met.nearest.as_ref().unwrap().to_string(), "get pods a/db-1 by controller-manager");
        counted(&mut rules, "/api/v1/namespaces/a/pods/web-1");
        assert_eq!(rules.selected(id).unwrap().selected, 1);
        assert!(rules.remove(id).is_some() && rules.selected(id).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_rule_with_turns_strikes_what_it_holds_and_ends() {
        let (watch, at) = (asked("/api/v1/pods?watch=true"), Instant::now());
        let arrival = Arrival { at, revision: Some(8), mark: Mark::Changed };
        let all = |effect| Rule { selector: Selector { turns: Some(Turns::ALL), ..Selector::default() }, effect };
        for (effect, holds) in [
            (Effect::Lag(MILLISECOND), true),
            (Effect::Hang, true),
            (Effect::BookmarkOnly, true),
            (Effect::Cut, true),
            (Effect::Stale(7), true),
            (Effect::Stale(8), false),
            (Effect::Observe, false),
        ] {
            let mut rules = rules([Effect::Lag(MILLISECOND)]);
            let id = rules.add(all(effect));
            assert_eq!(rules.holding(&watch, arrival), if holds { vec![id] } else { Vec::new() }, "{effect:?}");
            assert_eq!(rules.ending_it(&watch, at), Vec::new());
        }
        let mut rules = rules([]);
        let id = rules.add(all(Effect::Gone(at + MILLISECOND)));
        assert_eq!(rules.ending_it(&watch, at), [id]);
        assert_eq!(rules.ending_it(&watch, at + MILLISECOND), Vec::new());
    }
}
