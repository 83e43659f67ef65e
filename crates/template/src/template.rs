use serde_json::Value as Json;

use crate::execute::execute;
use crate::parse::{Parsed, parse};
use crate::{Error, Host};

/// A parsed template.
///
/// ```
/// use coracle_template::{Alone, Template};
/// use serde_json::json;
///
/// let template = Template::parse("{{ range $i, $name := .names }}{{ if $i }}, {{ end }}{{ $name | quote }}{{ end }}", &[]);
/// assert_eq!(template.unwrap().render(&json!({"names": ["a", "b"]}), &Alone).unwrap(), "\"a\", \"b\"");
/// assert_eq!(Template::parse("\n{{ nothing . }}", &[]).unwrap_err().to_string(), "line 2: function \"nothing\" not defined");
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    parsed: Parsed,
}

impl Template {
    /// Parses a template. `functions` are the names of the [`Host`]'s functions; they take precedence over those of
    /// sprig and Go.
    pub fn parse(text: &str, functions: &[&str]) -> Result<Self, Error> {
        parse(text, functions).map(|parsed| Self { parsed })
    }

    /// Renders the template with `data`.
    pub fn render(&self, data: &Json, host: &dyn Host) -> Result<String, Error> {
        execute(&self.parsed, data, host)
    }
}
