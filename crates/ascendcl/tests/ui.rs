//! Programs that must not compile. `TRYBUILD=overwrite` regenerates the expected messages.

#[test]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
