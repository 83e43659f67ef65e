//! What a run of a search costs: `cargo bench -p coracle-check --bench search`. Prints the number of runs in a second;
//! nothing here passes or fails.
//!
//! `--plans N` tries so many plans, `--jobs N` uses so many threads.

use std::time::Instant;

use coracle::api::core_v1::{ConfigMap, Secret};
use coracle::meta::ObjectKey;
use coracle::runtime::DeleteParams;
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_check::{CheckReport, Connection, check};

const SAMPLE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {size: '1'}}";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str| {
        let value = arguments.iter().skip_while(|word| *word != name).nth(1);
        value.and_then(|value| value.parse::<usize>().ok())
    };
    let plans = number("--plans").unwrap_or(200);
    let counts = number("--jobs").map_or(vec![1, 2], |jobs| vec![jobs]);
    println!("{:<40} {:>12} {:>12}", "", "a run", "runs/s");
    for jobs in counts {
        let start = now();
        let report = check(mirror).sample(SAMPLE).plans(plans).jobs(jobs).search().expect("the controller is checked");
        let took = start.elapsed();
        let CheckReport { tried, .. } = report;
        let each = took / u32::try_from(tried.runs).unwrap_or(u32::MAX);
        let rate = tried.runs as f64 / took.as_secs_f64();
        println!(
            "{:<40} {each:>12.1?} {rate:>12.0}",
            format!("{} runs of a small controller, {jobs} jobs", tried.runs)
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

/// Keeps a ConfigMap of the same name for each Secret.
struct Mirror;

impl Reconciler for Mirror {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let (secrets, maps) = (pass.api::<Secret>(), pass.api::<ConfigMap>());
        match (secrets.find(key).await?, maps.find(key).await?) {
            (Some(_), None) => {
                let mut map = ConfigMap::default();
                (map.metadata.namespace, map.metadata.name) = (Some(key.namespace.clone()), Some(key.name.clone()));
                maps.create(&map).await?;
            }
            (None, Some(_)) => drop(maps.delete(key, &DeleteParams::default()).await?),
            _ => {}
        }
        Ok(Action::Done)
    }
}

async fn mirror(connection: Connection) {
    let process = Process::new("mirror", &connection.client(), &connection.ambient, &connection.recorder);
    let secrets = process.informers.informer::<Secret>();
    let controller = Controller::new(&process, "secrets", Mirror).watches(&secrets, key_of);
    tokio::join!(biased; controller.run(), process.run());
}
