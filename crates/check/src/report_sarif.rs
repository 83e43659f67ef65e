use coracle_sim::checks::{Check, Finding, Grade};
use serde_json::{Value, json};

use crate::check_report::{CheckReport, Found};
use crate::plan_file::VERSION;

/// The schema of SARIF 2.1.0.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

impl CheckReport {
    /// The report as SARIF 2.1.0: a rule for each check, and a result for each finding. A result is located in the file
    /// with its plan, if there is one.
    pub fn sarif(&self) -> Value {
        let without = self.without_faults.iter().map(|finding| result(finding, "without a fault"));
        let found = self.found.iter().map(of_found);
        json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "coracle check", "version": VERSION,
                    "rules": self.checks.iter().map(|check| rule(check)).collect::<Vec<_>>(),
                }},
                "results": without.chain(found).collect::<Vec<_>>(),
            }],
        })
    }
}

fn level(grade: Grade) -> &'static str {
    match grade {
        Grade::Broken => "error",
        Grade::Differs => "warning",
        Grade::Wasteful => "note",
    }
}

fn rule(check: &Check) -> Value {
    json!({
        "id": check.word,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.about},
        "defaultConfiguration": {"level": level(check.grade)},
    })
}

fn result(finding: &Finding, how: &str) -> Value {
    let check = finding.check;
    let text = format!("The controller {}: {}; {how}", check.title, finding.violation.what);
    json!({"ruleId": check.word, "level": level(check.grade), "message": {"text": text}})
}

fn of_found(found: &Found) -> Value {
    let mut value = result(&found.finding, &found.plan.lines().join("; "));
    if let Some(file) = &found.file {
        value["locations"] = json!([{"physicalLocation": {"artifactLocation": {"uri": file}}}]);
    }
    value["properties"] = json!({"plan": found.number, "seed": found.seed, "faults": found.plan.faults});
    value
}
