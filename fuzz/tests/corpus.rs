//! Replays every input of the corpus on several schedules.

use std::path::Path;
use std::process::Command;

#[test]
fn corpus_inputs_pass() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let input = entry.unwrap().path();
        for schedule in ["threads", "early", "late", "random:1"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_softacl-fuzz"));
            command.arg("replay").arg(&input).env("SOFTACL_SCHEDULE", schedule);
            let output = command.output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} on schedule {schedule}:\n{stderr}", input.display());
            count += 1;
        }
    }
    assert!(count >= 4, "only {count} replays");
}
