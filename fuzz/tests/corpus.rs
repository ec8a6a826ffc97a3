//! Lives that once ended badly are lived again, on several schedules.

use std::path::Path;
use std::process::Command;

#[test]
fn corpus_inputs_pass() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let kept = entry.unwrap().path();
        for schedule in ["threads", "early", "late", "random:1"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_softacl-fuzz"));
            command.arg("replay").arg(&kept).env("SOFTACL_SCHEDULE", schedule);
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} on schedule {schedule}:\n{told}", kept.display());
            count += 1;
        }
    }
    assert!(count >= 4, "only {count} lives were found");
}
