//! The report, for people and for machines.
