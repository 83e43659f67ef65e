use serde_json::{Value, json};

use crate::check_report::{CheckReport, Found, Tried};
use crate::fault_site::FaultSite;
use crate::plan_file::VERSION;
use coracle_sim::checks::Finding;

impl CheckReport {
    /// The report as JSON.
    pub fn json(&self) -> Value {
        let of_replayed = |replayed: &crate::Replayed| {
            json!({
                "file": replayed.file, "check": replayed.check, "isFoundAgain": replayed.is_found_again,
                "changes": replayed.changes,
            })
        };
        json!({
            "coracle": VERSION,
            "fails": self.fails(),
            "withoutFaults": self.without_faults.iter().map(of_finding).collect::<Vec<_>>(),
            "found": self.found.iter().map(of_found).collect::<Vec<_>>(),
            "replayed": self.replayed.iter().map(of_replayed).collect::<Vec<_>>(),
            "tried": of_tried(&self.tried),
            "notPermitted": self.rbac.refused(),
            "permittedBeyond": self.rbac.beyond(),
        })
    }
}

fn of_finding(finding: &Finding) -> Value {
    json!({
        "check": finding.check.word, "grade": finding.check.grade.word(), "title": finding.check.title,
        "what": finding.violation.what,
    })
}

fn of_found(found: &Found) -> Value {
    let mut value = of_finding(&found.finding);
    value["plan"] = json!(found.number);
    value["seed"] = json!(found.seed);
    value["faults"] = json!(found.plan.faults);
    value["faultsAtFirst"] = json!(found.faults_at_first);
    value["shrinkingRuns"] = json!(found.shrinking_runs);
    value["acts"] = json!(found.acts);
    value["file"] = json!(found.file);
    value
}

fn of_tried(tried: &Tried) -> Value {
    let of_site =
        |site: &FaultSite| json!({"by": site.by, "verb": site.verb, "resource": site.resource, "nth": site.nth});
    let of_sites = |sites: &[FaultSite]| sites.iter().map(of_site).collect::<Vec<_>>();
    json!({
        "runs": tried.runs, "plans": tried.plans, "struck": tried.struck, "left": tried.left, "next": tried.next,
        "sites": of_sites(&tried.sites), "unstable": of_sites(&tried.unstable),
        "table": tried.table.json(),
    })
}
