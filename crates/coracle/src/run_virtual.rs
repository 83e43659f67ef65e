use std::path::PathBuf;

use coracle_cluster::{Cluster, Error};
use coracle_sim::{ClockMode, run_in};

use crate::BuilderExt;

/// Runs a test against a cluster with two nodes in virtual time, on a runtime of its own: from any test, async or
/// not.
///
/// The same seed gives the same sequence of events.
///
/// ```
/// use std::time::Duration;
///
/// let woke = coracle::run_virtual(1, async |cluster| {
///     tokio::time::sleep(Duration::from_secs(3600)).await; // takes no hour
///     cluster.ambient().clock.now().to_string()
/// });
/// assert!(woke.unwrap().starts_with("2026-01-01T01:00:00"));
/// ```
///
/// # Errors
/// If the cluster does not start, if one of its tasks panics, or if the runtime cannot be created.
pub fn run_virtual<F, R>(seed: u64, test: F) -> Result<R, Error>
where
    F: AsyncFnOnce(&Cluster) -> R,
{
    in_virtual_time(async move {
        let cluster = Cluster::builder().nodes(2).seed(seed).start().await?;
        let result = cluster.unless_ended(test(&cluster)).await?;
        cluster.shutdown().await;
        Ok(result)
    })
}

/// Like [`run_virtual`], and writes the page of [`report_on_failure`](crate::BuilderExt::report_on_failure) if the test
/// or a task of the cluster panics.
///
/// # Errors
/// As [`run_virtual`].
pub fn run_virtual_or_report<F, R>(seed: u64, path: impl Into<PathBuf>, test: F) -> Result<R, Error>
where
    F: AsyncFnOnce(&Cluster) -> R,
{
    let builder = Cluster::builder().nodes(2).seed(seed).report_on_failure(path);
    in_virtual_time(async move {
        let cluster = builder.start().await?;
        let result = match cluster.unless_ended(test(&cluster)).await {
            Ok(result) => result,
            Err(ended) => {
                cluster.write_report();
                return Err(ended);
            }
        };
        cluster.shutdown().await;
        Ok(result)
    })
}

fn in_virtual_time<R>(run: impl Future<Output = Result<R, Error>>) -> Result<R, Error> {
    run_in(ClockMode::Virtual, run).map_err(|error| Error::NotStarted(format!("no runtime: {error}")))?
}

#[cfg(test)]
mod tests {
    use coracle_api::core_v1::Namespace;
    use coracle_client::Api;
    use coracle_meta::ObjectKey;

    use super::*;

    #[test]
    fn a_virtual_hour_of_a_cluster_passes_in_a_moment() {
        let (before, after) = run_virtual(1, async |cluster| {
            let before = cluster.ambient().clock.now();
            tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
            (before, cluster.ambient().clock.now())
        })
        .unwrap();
        assert_eq!(after.as_second() - before.as_second(), 3600);
    }

    #[test]
    fn the_same_seed_gives_the_same_names() {
        let uid = |seed| {
            run_virtual(seed, async |cluster| {
                let namespaces: Api<Namespace> = Api::of(&cluster.api_client());
                namespaces.get(&ObjectKey::cluster("default")).await.unwrap().metadata.uid
            })
            .unwrap()
        };
        assert_eq!(uid(1), uid(1));
        assert_ne!(uid(1), uid(2));
    }
}
