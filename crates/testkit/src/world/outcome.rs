//! Outcomes of calls on the machine, compared with what the model requires.

/// Describes a difference between machine and model, or an unexpected failure of a call.
pub type Failure = String;

/// The code of every failure inside a graph.
pub(super) const GRAPH_FAILURE: i32 = 507_011;

/// Requires that a call succeeded.
pub(super) fn ok<T>(result: softacl_engine::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| format!("{} ({error})", error.code()))
}

/// Requires that a call failed with this code.
pub(super) fn must_fail<T>(result: softacl_engine::Result<T>, code: i32, what: &str) -> Result<(), Failure> {
    match result {
        Err(error) if error.code() == code => Ok(()),
        Err(error) => Err(format!("{what} returned {} instead of {code}: {error}", error.code())),
        Ok(_) => Err(format!("{what} succeeded instead of returning {code}")),
    }
}

/// Requires that a wait failed with one of the codes, or succeeded if there are none.
pub(super) fn expect<T>(result: softacl_engine::Result<T>, codes: Option<Vec<i32>>) -> Result<(), Failure> {
    match (result, codes) {
        (result, None) => ok(result).map(|_| ()),
        (Err(error), Some(codes)) if codes.contains(&error.code()) => Ok(()),
        (Err(error), Some(codes)) => Err(format!("{} instead of {codes:?}: {error}", error.code())),
        (Ok(_), Some(codes)) => Err(format!("the wait succeeded, the model has {codes:?}")),
    }
}
