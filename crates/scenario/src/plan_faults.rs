use std::path::Path;

use crate::BuiltIn;
use crate::fault_list::{UncheckedFaults, name_custom_resources, name_foreign_kinds};
use crate::faulty_server::FaultyServer;
use crate::file::Scenario;
use crate::parse::{Checker, Known, Problem};

impl UncheckedFaults {
    /// The first problem of each fault of a plan of a program. The program may have kinds of its own, so a kind or a
    /// resource that is not built in is one of these. `path` and `text` are the file with the faults.
    pub fn problems_for_a_program(&self, path: &Path, text: &str) -> Vec<Problem> {
        let (mut faults, mut known) = (self.clone().into_list(), Known::default());
        for fault in &mut faults {
            name_custom_resources(fault, &mut known.custom);
            name_foreign_kinds(fault, &mut known.custom);
        }
        let check = Checker { path, text, vocabulary: &BuiltIn::default(), known };
        let problems = faults.iter().map(|fault| check.running_fault(fault, FaultyServer::CLUSTER));
        problems.filter_map(Result::err).collect()
    }

    /// The first problem of each fault of a plan of a scenario, whose file is `of`. `path` and `text` are the file with the
    /// faults.
    pub fn problems_in(&self, scenario: &Scenario, of: &Path, path: &Path, text: &str) -> Vec<Problem> {
        let check = Checker { path, text, vocabulary: &BuiltIn::default(), known: Known::of(scenario, of) };
        let faults = self.clone().into_list();
        faults.iter().filter_map(|fault| check.listed_fault(fault).err()).collect()
    }
}
