//! What the doctor found out about one subject. The checks make diagnoses; how they are printed is not decided here.

use serde::Serialize;

/// The answer to one question.
#[derive(Debug, Serialize)]
pub(super) struct Diagnosis {
    pub(super) subject: &'static str,
    pub(super) state: State,
    pub(super) text: String,
    /// What to do, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

/// How serious a diagnosis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Good,
    /// Works, but something is unusual or a feature is missing.
    Note,
    Problem,
}

impl Diagnosis {
    pub(super) fn good(subject: &'static str, text: impl Into<String>) -> Diagnosis {
        Diagnosis { subject, state: State::Good, text: text.into(), remedy: None }
    }

    pub(super) fn note(subject: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Diagnosis {
        Diagnosis { subject, state: State::Note, text: text.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn problem(subject: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Diagnosis {
        Diagnosis { subject, state: State::Problem, text: text.into(), remedy: Some(remedy.into()) }
    }
}
