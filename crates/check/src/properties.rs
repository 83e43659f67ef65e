use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::Cluster;
use coracle_scenario::question_of;
use coracle_sim::checks::BrokenProperty;
use coracle_sim::{Invariant, InvariantAnswer, InvariantQuestion, NotInTime, Polarity, World};

use crate::Error;

/// How long the objects of a cluster may take to be seen.
const PATIENCE: Duration = Duration::from_secs(10);

/// When a property of an author has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// At every revision.
    Always,
    /// At no revision.
    Never,
    /// At rest, after all faults have ended.
    Eventually,
}

/// A property as its author wrote it.
#[derive(Clone, Debug)]
pub(crate) struct WrittenProperty {
    /// When it has to hold.
    pub(crate) holds: Holds,
    /// A sentence for reports.
    pub(crate) sentence: String,
    /// The expression over all objects.
    pub(crate) cel: String,
}

/// What an author demands of each run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    /// What has to hold, or must not hold, at every revision.
    pub(crate) throughout: Vec<Invariant>,
    /// What has to hold at rest, with its sentence.
    pub(crate) at_rest: Vec<(String, InvariantQuestion)>,
}

impl Properties {
    /// Adds a property. `served` are the plurals of all kinds of the cluster.
    ///
    /// # Errors
    /// If the expression is not valid.
    pub(crate) fn add(&mut self, written: &WrittenProperty, served: &[String]) -> Result<(), Error> {
        let WrittenProperty { holds, sentence, cel } = written;
        let question = question_of(cel, served);
        let question = question.map_err(|why| Error::Input(format!("the property \"{sentence}\": {why}")))?;
        let polarity = match holds {
            Holds::Always => Polarity::Always,
            Holds::Never => Polarity::Never,
            Holds::Eventually => {
                self.at_rest.push((sentence.clone(), question));
                return Ok(());
            }
        };
        self.throughout.push(Invariant { name: sentence.clone(), polarity, question, since: None, line: None });
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.throughout.is_empty() && self.at_rest.is_empty()
    }

    /// The objects of a cluster with what has to hold throughout. They are followed until the cluster ends.
    pub(crate) fn follow(&self, cluster: &Cluster, namespace: &str) -> World {
        let plurals = Arc::new(cluster.plurals());
        let world = World::new(cluster.store(), namespace, plurals, self.throughout.clone());
        let followed = world.clone();
        cluster.spawn("properties", async move {
            // It ends with the store; what was not seen then is reported when the properties are judged.
            let _ = followed.follow().await;
        });
        world
    }

    /// What does not hold now that the cluster is at rest.
    pub(crate) async fn judge_rest(&self, world: &World) -> Vec<BrokenProperty> {
        let mut broken = Vec::new();
        for (sentence, question) in &self.at_rest {
            if let Err(NotInTime { answer, .. }) = world.until(question, Polarity::Always, Duration::ZERO).await {
                broken.push(BrokenProperty { sentence: sentence.clone(), revision: None, found: found(answer) });
            }
        }
        broken
    }

    /// What did not hold at some revision.
    pub(crate) async fn judge_all(&self, world: &World) -> Vec<BrokenProperty> {
        let unseen = world.caught_up(PATIENCE).await.err().map(|NotInTime { answer, .. }| {
            let sentence = "all objects are seen".to_owned();
            BrokenProperty { sentence, revision: None, found: found(answer) }
        });
        let broken = world.verdicts().into_iter().filter_map(|verdict| {
            let broken = verdict.broken?;
            let found = format!("expected {}, found {}", broken.expected, broken.found);
            Some(BrokenProperty { sentence: verdict.name, revision: Some(broken.revision), found })
        });
        broken.chain(unseen).collect()
    }
}

fn found(answer: InvariantAnswer) -> String {
    match answer {
        InvariantAnswer::Fails { expected, found, .. } => format!("expected {expected}, found {found}"),
        InvariantAnswer::Unanswerable(why) => why,
        InvariantAnswer::Holds => "it holds".to_owned(),
    }
}
