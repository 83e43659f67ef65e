use std::collections::BTreeMap;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::program;

/// The size of the program. Only sections that are loaded count, so that a program with symbols has the same size as
/// one without.
pub(crate) struct Size {
    /// Bytes of each kind of section, and of all of them.
    pub(crate) parts: BTreeMap<String, u64>,
    /// Bytes of the code of each crate, the largest first. Generic code counts for the crate that defines it.
    pub(crate) crates: Vec<(String, u64)>,
}

impl Size {
    pub(crate) fn measure() -> Result<Self, String> {
        let bytes = std::fs::read(program::PATH).map_err(|error| format!("{}: {error}", program::PATH))?;
        let file = object::File::parse(&*bytes).map_err(|error| format!("{}: {error}", program::PATH))?;
        Ok(Self { parts: sections(&file), crates: crates(&file) })
    }
}

fn sections(file: &object::File<'_>) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let part = match section.kind() {
            _ if name.contains("eh_frame") || name.contains("except") || name.contains("unwind") => {
                "tables for unwinding"
            }
            SectionKind::Text => "code",
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyString | SectionKind::ReadOnlyDataWithRel => "constants",
            SectionKind::Data | SectionKind::Tls => "data",
            SectionKind::Elf(_) | SectionKind::Metadata => "tables for the linker",
            _ => continue,
        };
        let is_loaded = !matches!(section.kind(), SectionKind::Elf(_) | SectionKind::Metadata) || section.address() > 0;
        if is_loaded {
            *sizes.entry(part.to_owned()).or_default() += section.size();
            *sizes.entry("program".to_owned()).or_default() += section.size();
        }
    }
    sizes
}

fn crates(file: &object::File<'_>) -> Vec<(String, u64)> {
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default()));
        let path = name.trim_start_matches(|letter: char| "<&*([ ".contains(letter));
        let name = path.trim_start_matches("mut ").trim_start_matches("dyn ").split("::").next().unwrap_or_default();
        *sizes.entry(name.to_owned()).or_default() += symbol.size();
    }
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    sizes
}
