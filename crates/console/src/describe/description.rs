//! A description under construction.

/// Lines, each with a level of indentation, whose cells end with tabs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Description {
    pub(crate) text: String,
}

impl Description {
    /// Appends a text at a level.
    pub(crate) fn write(&mut self, level: usize, text: &str) {
        self.text.extend(std::iter::repeat_n("  ", level));
        self.text.push_str(text);
    }

    /// Appends a line at a level.
    pub(crate) fn line(&mut self, level: usize, text: impl AsRef<str>) {
        self.write(level, text.as_ref());
        self.text.push('\n');
    }

    /// Appends a name and its value at a level.
    pub(crate) fn field(&mut self, level: usize, name: &str, value: impl std::fmt::Display) {
        self.write(level, &format!("{name}:\t{value}\n"));
    }

    /// Appends a name and its value if the value is not empty.
    pub(crate) fn field_if(&mut self, level: usize, name: &str, value: &str) {
        if !value.is_empty() {
            self.field(level, name, value);
        }
    }
}
