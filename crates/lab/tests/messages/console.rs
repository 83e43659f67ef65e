use coracle_cluster::Cluster;
use coracle_lab::{Console, Lab, Output};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::json;

use crate::support::result;

/// A console with one word, which waits in the time of the cluster.
struct Sleeper;

impl Console for Sleeper {
    fn run<'a>(&'a mut self, cluster: &'a Cluster, line: &'a str) -> LocalBoxFuture<'a, Output> {
        async move {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            let release = cluster.registry().release().version();
            Output { stdout: format!("{line} in {release}\n"), stderr: "late\n".to_owned(), code: 3 }
        }
        .boxed_local()
    }
}

#[test]
fn a_line_of_the_console_runs_in_the_time_of_the_cluster() {
    let mut lab = Lab::default().with_console(Sleeper);
    let opened = result(&mut lab, &json!({"do": "open", "kubernetes": "1.36"}));
    let printed = result(&mut lab, &json!({"do": "console", "line": "hello"}));
    assert_eq!(
        (&printed["stdout"], &printed["stderr"], &printed["code"]),
        (&json!("hello in 1.36\n"), &json!("late\n"), &json!(3))
    );
    assert!(printed["now"].as_str() > opened["now"].as_str());
}
