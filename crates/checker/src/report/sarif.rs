//! The report as SARIF 2.1.0, for code scanning and editors.

use super::format;
use super::{MergedFinding, Outcome, finding_kind::RULES};
use crate::finding::{Frame, Participant, Severity};
use crate::source_path;
use serde_json::{Map, Value, json};
use std::env;
use std::path::Path;

/// The base that SARIF readers resolve to the source root.
const ROOT: &str = "%SRCROOT%";

pub fn render(outcome: &Outcome) -> String {
    let root = env::current_dir().unwrap_or_default();
    let results: Vec<Value> = outcome.cases.iter().map(|case| result(case, outcome, &root)).collect();
    let notes: Vec<Value> =
        outcome.limits().map(|note| json!({ "level": "warning", "message": { "text": note } })).collect();
    let invocation = json!({
        "executionSuccessful": outcome.unchecked.is_none(),
        "commandLine": outcome.repeat(),
        "toolExecutionNotifications": notes,
    });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "softacl",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules(),
            }},
            "invocations": [invocation],
            "originalUriBaseIds": { ROOT: { "uri": format!("{}/", file_uri(&root.display().to_string())) } },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {
                "schedule": outcome.schedule,
                "seed": outcome.seed,
                "soc": outcome.soc,
                "suppressed": outcome.suppressed,
                "unjudged": outcome.unjudged,
                "programExitCode": outcome.exit_code,
            },
        }],
    });
    let mut text = serde_json::to_string_pretty(&document).expect("all keys are strings");
    text.push('\n');
    text
}

fn rules() -> Vec<Value> {
    RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id.to_string(),
                "shortDescription": { "text": rule.title },
                "fullDescription": { "text": format!("{}. {}", capitalize(rule.title), rule.help) },
                "help": {
                    "text": format!("{} Run `softacl explain {}` for a buggy and a fixed program.", rule.help, rule.id),
                },
                "defaultConfiguration": { "level": level(rule.severity) },
            })
        })
        .collect()
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Proven => "error",
        Severity::Advice => "note",
    }
}

fn result(case: &MergedFinding, outcome: &Outcome, root: &Path) -> Value {
    let finding = &case.finding;
    let message = match finding.fix.as_str() {
        "" => finding.message.clone(),
        fix => format!("{}. Fix: {fix}.", finding.message.trim_end_matches('.')),
    };
    let mut result = json!({
        "ruleId": finding.id,
        "level": level(finding.severity),
        "message": { "text": message },
        "occurrenceCount": finding.count.max(1),
        "partialFingerprints": { "softaclFinding/v2": finding.fingerprint },
        "properties": { "repeat": outcome.repeat() },
    });
    if let Some(index) = RULES.iter().position(|rule| rule.id.to_string() == finding.id) {
        result["ruleIndex"] = index.into();
    }
    // The first operation with a location is the primary one. All of them are related locations.
    let mut locations = finding.operations.iter().filter_map(|part| Some((part, part.operation.place.best()?)));
    if let Some((_, frame)) = locations.next() {
        result["locations"] = json!([location(frame, root)]);
    }
    let related: Vec<Value> = finding
        .operations
        .iter()
        .filter_map(|part| Some((part, part.operation.place.best()?)))
        .enumerate()
        .map(|(index, (part, frame))| {
            let mut location = location(frame, root);
            location["id"] = index.into();
            location["message"] = json!({ "text": participant_message(part) });
            location
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn participant_message(part: &Participant) -> String {
    format!("{}: {}, on {}", part.role, part.operation.what, format::actor(&part.operation))
}

fn location(frame: &Frame, root: &Path) -> Value {
    let mut location = Map::new();
    if let Some(file) = &frame.file {
        let file = source_path::tidy(file);
        let artifact = match file.strip_prefix(root) {
            Ok(below) => json!({ "uri": encode(&below.display().to_string()), "uriBaseId": ROOT }),
            Err(_) if file.is_absolute() => json!({ "uri": file_uri(&file.display().to_string()) }),
            Err(_) => json!({ "uri": encode(&file.display().to_string()), "uriBaseId": ROOT }),
        };
        let mut physical = json!({ "artifactLocation": artifact });
        if let Some(line) = frame.line.filter(|line| *line > 0) {
            physical["region"] = json!({ "startLine": line });
        }
        location.insert("physicalLocation".into(), physical);
    }
    let name = match &frame.function {
        Some(function) => json!({ "name": function, "kind": "function" }),
        None => json!({ "name": format::location(frame) }),
    };
    location.insert("logicalLocations".into(), json!([name]));
    Value::Object(location)
}

fn file_uri(path: &str) -> String {
    format!("file://{}", encode(path))
}

fn encode(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use crate::finding::{Backtrace, Report};

    fn parsed(outcome: &Outcome) -> Value {
        serde_json::from_str(&render(outcome)).unwrap()
    }

    /// Checks the parts of the standard that this document uses: required members, types and closed lists.
    fn check(document: &Value) {
        assert_eq!(document["version"], "2.1.0");
        only(document, &["$schema", "version", "runs"]);
        for run in document["runs"].as_array().expect("runs") {
            only(run, &["tool", "invocations", "originalUriBaseIds", "columnKind", "results", "properties"]);
            assert!(["utf16CodeUnits", "unicodeCodePoints"].contains(&run["columnKind"].as_str().unwrap()));
            let driver = &run["tool"]["driver"];
            assert!(driver["name"].is_string());
            let rules = driver["rules"].as_array().expect("rules");
            for rule in rules {
                only(rule, &["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"]);
                for part in ["shortDescription", "fullDescription", "help"] {
                    assert!(rule[part]["text"].as_str().is_some_and(|text| !text.is_empty()));
                }
            }
            for invocation in run["invocations"].as_array().expect("invocations") {
                assert!(invocation["executionSuccessful"].is_boolean());
            }
            for base in run["originalUriBaseIds"].as_object().expect("bases").values() {
                assert!(base["uri"].as_str().is_some_and(|uri| uri.starts_with("file:///") && uri.ends_with('/')));
            }
            for result in run["results"].as_array().expect("results") {
                check_result(result, rules);
            }
        }
    }

    fn check_result(result: &Value, rules: &[Value]) {
        only(
            result,
            &[
                "ruleId",
                "ruleIndex",
                "level",
                "message",
                "occurrenceCount",
                "partialFingerprints",
                "properties",
                "locations",
                "relatedLocations",
            ],
        );
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
        assert!(result["occurrenceCount"].as_u64().is_some_and(|count| count >= 1));
        assert!(result["partialFingerprints"].as_object().unwrap().values().all(Value::is_string));
        if let Some(index) = result.get("ruleIndex") {
            assert_eq!(rules[index.as_u64().unwrap() as usize]["id"], result["ruleId"]);
        }
        for list in ["locations", "relatedLocations"] {
            for location in result.get(list).and_then(Value::as_array).into_iter().flatten() {
                only(location, &["id", "physicalLocation", "logicalLocations", "message"]);
                if let Some(physical) = location.get("physicalLocation") {
                    let uri = physical["artifactLocation"]["uri"].as_str().expect("uri");
                    assert!(!uri.contains(' ') && (uri.starts_with("file:///") || !uri.starts_with('/')), "{uri}");
                    let line = physical.get("region").map(|region| region["startLine"].as_u64().unwrap());
                    assert!(line.is_none_or(|line| line >= 1));
                }
            }
        }
    }

    fn only(object: &Value, known: &[&str]) {
        for key in object.as_object().expect("an object").keys() {
            assert!(known.contains(&key.as_str()), "{key} is not expected here");
        }
    }

    #[test]
    fn document_follows_the_sarif_standard() {
        let mut outcome = Outcome::of(example::report());
        outcome.exit_code = Some(0);
        outcome.notes.push("process 7 wrote no report".into());
        outcome.unjudged.push(example::unjudged());
        let document = parsed(&outcome);
        check(&document);
        let run = &document["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(RULES.len()));
        assert_eq!(
            run["invocations"][0]["toolExecutionNotifications"][1]["message"]["text"],
            "process 7 wrote no report"
        );
        assert_eq!(run["properties"]["unjudged"][0]["count"], 3);
        let result = &run["results"][0];
        assert_eq!((&result["ruleId"], &result["level"]), (&"H1".into(), &"error".into()));
        assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 42);
        assert_eq!(result["relatedLocations"][1]["physicalLocation"]["region"]["startLine"], 51);
        assert_eq!(result["partialFingerprints"]["softaclFinding/v2"], "H1 app.c:42 app.c:51");
        assert_eq!(run["results"][1]["level"], "note");
    }

    #[test]
    fn locations_below_the_working_directory_are_relative() {
        let mut report = example::report();
        let directory = env::current_dir().unwrap();
        let set = |report: &mut Report, index: usize, file: &str| {
            report.findings[0].operations[index].operation.place.frames[0].file = Some(file.into());
        };
        set(&mut report, 0, &directory.join("two words/app.c").display().to_string());
        set(&mut report, 1, "src/b.c");
        report.findings[1].operations[0].operation.place = Backtrace::default();
        let document = parsed(&Outcome::of(report));
        check(&document);
        let results = &document["runs"][0]["results"];
        let uri = |index: usize| &results[0]["relatedLocations"][index]["physicalLocation"]["artifactLocation"];
        assert_eq!(uri(0), &json!({ "uri": "two%20words/app.c", "uriBaseId": ROOT }));
        assert_eq!(uri(1), &json!({ "uri": "src/b.c", "uriBaseId": ROOT }));
        assert!(results[1].get("locations").is_none());
    }
}
