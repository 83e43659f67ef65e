use serde_json::{Value, json};

/// Faults of a run, in the format of a scenario's `faults`. One without faults is a run without a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The faults.
    pub faults: Vec<Value>,
}

impl Plan {
    /// A plan with these faults.
    pub fn of(faults: impl IntoIterator<Item = Value>) -> Self {
        Self { faults: faults.into_iter().collect() }
    }

    /// The faults as one JSON text, which the reader of faults accepts.
    pub(crate) fn text(&self) -> String {
        Value::from(self.faults.clone()).to_string()
    }

    /// The word of each fault, such as `kill`.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.faults.iter().filter_map(fault_word)
    }

    /// A line for each fault: `lose: answer, when operator creates configmaps (the 1st)`.
    pub fn lines(&self) -> Vec<String> {
        self.faults.iter().map(line).collect()
    }
}

/// A value without the signs of JSON: `{"answer": "1s"}` is `answer 1s`.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) if !fields.is_empty() => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {}", word(value))).collect();
            fields.join(", ")
        }
        other => other.to_string(),
    }
}

fn line(fault: &Value) -> String {
    let action = fault["do"].as_object().into_iter().flatten();
    let action: Vec<String> = action.map(|(name, value)| format!("{name}: {}", word(value))).collect();
    let lasts = fault.get("for").map(|lasts| format!(", for {}", word(lasts))).unwrap_or_default();
    let Some(when) = fault.get("when") else { return format!("{}{lasts}", action.join(", ")) };
    let moment = when.get("moment").map(|moment| format!(" has {}", word(moment))).unwrap_or_default();
    format!("{}{lasts}, when {}{moment}", action.join(", "), place(when))
}

/// The request with which a fault begins.
pub(crate) fn place(when: &Value) -> String {
    let field = |name: &str| when.get(name).map(word).unwrap_or_default();
    let nth = when.get("nth").and_then(Value::as_u64).unwrap_or(1);
    format!("{} {} number {nth} by {}", field("verb"), field("resource"), field("by"))
}

/// The word of a fault: the key of its action that selects nothing.
pub(crate) fn fault_word(fault: &Value) -> Option<&str> {
    let action = fault.get("do")?.as_object()?;
    action.keys().map(String::as_str).find(|key| !matches!(*key, "kind" | "to" | "start"))
}

/// A fault that begins with a request.
pub(crate) fn fault(when: Value, action: Value, lasts: Option<&str>) -> Value {
    let mut fault = json!({"when": when, "do": action});
    if let Some(lasts) = lasts {
        fault["for"] = json!(lasts);
    }
    fault
}
