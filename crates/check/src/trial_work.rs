use std::time::Duration;

use coracle_journal::EntryId;
use coracle_meta::Object;
use coracle_sim::checks::Run;
use tokio::time::sleep;

use crate::Error;
use crate::acts::Acts;
use crate::rest::{Unrest, at_rest};
use crate::trial::Trial;
use crate::user_work::{Sample, UserWork};
use crate::workload::Workload;
use crate::workload_user::WorkloadUser;

/// How soon a user in a hurry acts again: while a controller still carries out the last act, if a fault delays it.
const HURRY: Duration = Duration::from_millis(200);

impl Trial<'_> {
    /// The work of a user, from the first object to the last deletion.
    pub(crate) async fn work(&self, acts: &Acts<'_>, run: &mut Run) -> Result<(), Error> {
        let setup = self.setup;
        for sample in &setup.prepared.samples {
            self.use_sample(acts, sample).await?;
        }
        self.take_workload(acts, run).await?;
        acts.end_faults();
        run.calm = acts.has_faults().then(|| self.recorder.last());
        run.unsettled = acts.unsettled();
        if run.unsettled.is_some() {
            return Ok(());
        }
        let Some(settled) = self.rest(run).await else { return Ok(()) };
        run.settled = Some(settled);
        if let Some(world) = &self.world {
            run.broken_properties = setup.properties.judge_rest(world).await;
        }
        let handle = self.cluster.handle();
        for name in setup.parts.keys().chain([&setup.name]) {
            handle.kill_component(name, None);
            handle.start_component(name, None);
        }
        let Some(restarted) = self.rest(run).await else { return Ok(()) };
        run.restarted = Some(restarted);
        let work = UserWork::new(&self.cluster);
        for object in self.given_objects() {
            work.delete(&object).await?;
        }
        acts.settle().await;
        run.unsettled = acts.unsettled();
        acts.end_faults();
        run.emptied = self.rest(run).await;
        Ok(())
    }

    /// A user creates an object, changes it and replaces it: first one act after the other, and then in a hurry.
    async fn use_sample(&self, acts: &Acts<'_>, sample: &Sample) -> Result<(), Error> {
        self.act(acts, async |work| work.create(&sample.object).await.map(drop)).await?;
        self.act(acts, async |work| work.patch(&sample.object, &sample.change).await).await?;
        self.act(acts, async |work| work.change_back(sample).await).await?;
        self.act(acts, async |work| {
            work.replace(&sample.object).await?;
            sleep(HURRY).await;
            work.replace(&sample.object).await
        })
        .await?;
        // The last state is a changed one, so that no later act hides what is missing.
        self.act(acts, async |work| work.patch(&sample.object, &sample.change).await).await?;
        self.act(acts, async |work| {
            work.change_back(sample).await?;
            sleep(HURRY).await;
            work.patch(&sample.object, &sample.change).await
        })
        .await
    }

    /// An act of the user, and what follows from it.
    async fn act(
        &self,
        acts: &Acts<'_>,
        act: impl AsyncFnOnce(&UserWork<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !acts.stops() {
            act(&UserWork::new(&self.cluster)).await?;
            acts.settle().await;
        }
        Ok(())
    }

    /// The work that the author has written.
    async fn take_workload(&self, acts: &Acts<'_>, run: &mut Run) -> Result<(), Error> {
        let Some(workload) = self.setup.workload.as_ref().filter(|_| !acts.stops()) else { return Ok(()) };
        let failed = match (workload, &self.world) {
            (Workload::Scenario(steps), Some(world)) => {
                let mut running = steps.begin(&self.cluster, world, &self.faults);
                let taken = running.take(async || acts.settle().await, async || acts.tries_again().await).await;
                running.end_faults();
                taken.err()
            }
            (Workload::Scenario(_), None) => None,
            (Workload::Code(code), _) => {
                let user = WorkloadUser::new(UserWork::new(&self.cluster), acts);
                match code.run(&user).await {
                    Err(error @ Error::Cluster(_)) => return Err(error),
                    ended => ended.err().map(|error| error.to_string()),
                }
            }
        };
        acts.settle().await;
        run.failed_work = failed.filter(|_| !acts.stops());
        Ok(())
    }

    /// The objects that users have created and that still exist, in the order of their creation.
    fn given_objects(&self) -> Vec<Object> {
        let samples = self.setup.prepared.samples.iter().map(|sample| sample.object.clone());
        if self.setup.workload.is_none() {
            return samples.collect();
        }
        let log = self.setup.log_of(&self.recorder);
        let exists = log.objects_at(self.recorder.last());
        let users = self.setup.users();
        let created = users.iter().flat_map(|user| log.writes_of(user)).filter(|write| write.before.is_none());
        let mut created: Vec<_> = created.filter(|write| exists.contains_key(&*write.subject)).collect();
        created.sort_by_key(|write| write.entry);
        created.dedup_by(|one, other| one.subject == other.subject);
        let objects = created.iter().filter_map(|write| Object::from_value(write.after.as_deref()?.clone()).ok());
        objects.collect()
    }

    /// Waits until the cluster is at rest, and returns the last entry before.
    async fn rest(&self, run: &mut Run) -> Option<EntryId> {
        let settled = async || self.stillness().rest(self.setup.pace.at_rest).await.map_err(Unrest::why);
        at_rest(run, &self.wire, &self.recorder, settled).await
    }
}
