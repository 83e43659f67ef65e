//! The admission plug-ins, a file each.
