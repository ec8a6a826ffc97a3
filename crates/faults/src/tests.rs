use super::*;
use ascendcl_sys::{ACL_ERROR_INTERNAL_ERROR, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, ACL_ERROR_RT_MEMORY_ALLOCATION};
use softacl_profiles::closest_match;
use std::time::Duration;

const WORDS: Vocabulary = Vocabulary {
    function: |name| match name {
        "aclrtMalloc" | "aclrt*" | "acl*" => Ok(()),
        _ => Err(format!("there is no function {name}")),
    },
    near: |name| closest_match(name, ["aclrtMalloc"]),
    code: |name| (name == "ACL_ERROR_RT_MEMORY_ALLOCATION").then_some(ACL_ERROR_RT_MEMORY_ALLOCATION),
};

fn one(text: &str) -> Rule {
    let mut rules = parse(text, WORDS).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(rules.len(), 1, "{text}");
    rules.remove(0)
}

fn error_of(text: &str) -> (usize, String) {
    let error = parse(text, WORDS).expect_err(text);
    (error.column, error.message)
}

#[test]
fn every_part_of_a_rule_is_parsed() {
    let rule = one("aclrtMalloc@3=207001");
    assert_eq!(rule.point, InjectionPoint::Call("aclrtMalloc".to_owned()));
    assert_eq!(rule.when, When::Numbers { first: 3, last: 3 });
    assert_eq!(rule.effect, Effect::Code(ACL_ERROR_RT_MEMORY_ALLOCATION));
    assert_eq!(
        one("aclrtMalloc = ACL_ERROR_RT_MEMORY_ALLOCATION").effect,
        Effect::Code(ACL_ERROR_RT_MEMORY_ALLOCATION)
    );
    assert_eq!(one("acl*@2+=500000").when, When::Numbers { first: 2, last: u64::MAX });
    assert_eq!(one("copy@2-4=507013").when, When::Numbers { first: 2, last: 4 });
    assert_eq!(one("copy@2.5%:7=507013").when, When::Chance { percent: 2.5, seed: 7 });
    assert_eq!(one("task=slow 20ms").effect, Effect::Slow(Duration::from_millis(20)));
    assert_eq!(one("batch=stuck").effect, Effect::Stuck);
    assert_eq!(one("fill=ecc").effect, Effect::Ecc(None));
    assert_eq!(one("allocation=ecc 4KiB+64").effect, Effect::Ecc(Some(ByteRange { offset: 4096, len: 64 })));
    assert_eq!(one("thread@1=fail").effect, Effect::Refused);
    let rule = one("copy[stream=2, size>=1MiB, size < 2MiB, device=1] @ 3 = lost");
    assert_eq!(rule.filters.stream, Some(2));
    assert_eq!(rule.filters.device, Some(1));
    assert_eq!(rule.filters.sizes, [(Comparison::AtLeast, 1 << 20), (Comparison::Less, 2 << 20)]);
    // Filters and match numbers may come in any order.
    assert_eq!(one("copy@3[device=1]=lost").filters.device, Some(1));
}

#[test]
fn rules_are_separated_by_lines_or_semicolons() {
    let text = "# several faults\naclrtMalloc@3=207001 # the third\n\n;copy@1=stuck; link=lost;\n";
    let rules = parse(text, WORDS).unwrap();
    let texts: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
    assert_eq!(texts, ["aclrtMalloc@3=207001", "copy@1=stuck", "link=lost"]);
    assert!(parse(" ; \n# nothing\n", WORDS).unwrap().is_empty());
}

#[test]
fn error_has_column_and_allowed_words() {
    let expectations = [
        ("aclrtMallok=207001", 1, "there is no function aclrtMallok"),
        ("cpoy=lost", 1, "neither a function of the API (acl...) nor one of task, copy"),
        ("cpoy=lost", 1, "reduce, kernel, allocation, link, mmap, memfd, mprotect, thread, buffer; did you mean copy?"),
        ("alcrtMalloc=207001", 1, "; did you mean aclrtMalloc?"),
        ("=207001", 1, "a function of the API, or one of task"),
        ("aclrt*alloc=207001", 6, "only at the end of a name"),
        ("aclrtMalloc", 12, "\"@\" and a number, or \"=\" and an effect, found the end"),
        ("aclrtMalloc@", 13, "3 (the third), 3+ (from then on), 3-5, or 10%:SEED"),
        ("aclrtMalloc@0=207001", 13, "numbers start at 1"),
        ("aclrtMalloc@5-3=207001", 15, "3 comes before 5"),
        ("copy@99999999999999999999=lost", 6, "99999999999999999999 is too large: 18446744073709551615 is the"),
        ("copy@1-99999999999999999999=lost", 8, "is too large"),
        ("copy@10%:99999999999999999999=lost", 10, "is too large"),
        ("copy[size>99999999999999999999]=lost", 11, "is too large"),
        ("copy@1.5=lost", 6, "3-5, or 10%:SEED, found \"1.5\""),
        ("copy@101%=lost", 6, "not a percentage"),
        ("aclrtMalloc@3=", 15, "expected an effect; for a function: a code"),
        ("aclrtMalloc@3=stuck", 15, "\"stuck\" is not an effect that is possible here; for a function"),
        ("aclrtMalloc=7", 13, "six digits"),
        ("aclrtMalloc=ACL_ERROR_NONE", 13, "code ACL_ERROR_NONE does not exist"),
        ("copy=slow 20", 13, "a time needs a unit, such as 20ms; allowed: us, ms, s"),
        ("copy=slow 20 min", 13, "\"min\" is not a unit of time; allowed: us, ms, s"),
        ("copy=slow 2000000s", 11, "at most one hour"),
        ("copy[sise=3]=lost", 6, "found \"sise\"; allowed here: size, stream, device"),
        ("allocation[peer=3]=ecc", 12, "allowed here: size, device"),
        ("copy[size~3]=lost", 10, "one of = < <= > >="),
        ("copy[size=3XB]=lost", 12, "allowed: B, KiB, MiB, GiB"),
        ("copy[stream=x]=lost", 13, "a number"),
        ("copy[stream=1=lost", 14, "\",\" or \"]\""),
        ("link[device=0, peer=0]=lost", 16, "a link is between two devices, and both are 0 here"),
        ("link[peer=3,device=3]=lost", 13, "both are 3 here"),
        ("copy[device=64]=lost", 13, "device 64 does not exist: a machine has at most 64 devices (0 to 63)"),
        ("link[peer=99]=lost", 11, "device 99 does not exist"),
        ("copy[device=]=lost", 13, "a device id"),
        ("copy=lost lost", 11, "\";\" or the end of the rule"),
        ("copy=ecc 1+1", 6, "for a task"),
        ("mmap=207001", 6, "for a system resource: fail"),
    ];
    for (text, column, part) in expectations {
        let (found, message) = error_of(text);
        assert!(found == column && message.contains(part), "{text}: column {found}: {message}");
    }
    let error = parse("copy=lost\n  täsk=lost", WORDS).unwrap_err();
    assert_eq!((error.line, error.column), (2, 3));
    let shown = error.to_string();
    assert!(shown.starts_with("line 2, column 3: ") && shown.ends_with("\n    täsk=lost\n    ^"), "{shown}");
}

#[test]
fn every_matching_rule_counts_and_the_first_that_fires_decides() {
    let rules = parse("acl*@2=500000; aclrtMalloc@1-2=207001; aclrtMalloc[size>10]=207000", WORDS).unwrap();
    let injection = Injection::new(rules, 2);
    let call = |size| {
        let context = || MatchContext { size: Some(size), ..MatchContext::default() };
        injection.call("aclrtMalloc", context).map(|fired| fired.effect)
    };
    assert_eq!(call(1), Some(Effect::Code(ACL_ERROR_RT_MEMORY_ALLOCATION)));
    assert_eq!(call(1), Some(Effect::Code(ACL_ERROR_INTERNAL_ERROR)));
    assert_eq!(call(1), None);
    assert_eq!(call(11), Some(Effect::Code(ACL_ERROR_RT_FEATURE_NOT_SUPPORT)));
    let lines = injection.summary();
    assert!(lines[0].ends_with("4 calls, fired once (call 2)"), "{lines:?}");
    assert!(lines[1].ends_with("4 calls, fired once (call 1); met once, rule 1 decided"), "{lines:?}");
    assert!(lines[2].ends_with("1 call, fired once (call 1)"), "{lines:?}");
}

#[test]
fn overruled_rules_are_not_counted_as_fired() {
    let text = "aclrtMalloc@1-2=207001; aclrtMalloc@1=207000; aclrtMalloc@2+=500000; acl*@2-3=507013";
    let injection = Injection::new(parse(text, WORDS).unwrap(), 2);
    for _ in 0..3 {
        injection.call("aclrtMalloc", MatchContext::default);
    }
    let fired: Vec<u64> = injection.rules().iter().map(Rule::fired).collect();
    assert_eq!(fired, [2, 0, 1, 0]);
    let lines: Vec<String> = injection.rules().iter().map(|rule| rule.summary(2)).collect();
    assert_eq!(lines[0], "3 calls, fired 2 times (call 1, 2)");
    assert_eq!(lines[1], "3 calls, never fired; met once, rule 1 decided");
    assert_eq!(lines[2], "3 calls, fired once (call 3); met once, rule 1 decided");
    assert_eq!(lines[3], "3 calls, never fired; met 2 times, rules 1, 3 decided");
}

#[test]
fn rule_for_missing_device_explains_why_it_never_fired() {
    let text = "aclrtMalloc[device=1]=207001; aclrtMalloc[device=2]=207001; link[device=0,peer=5]=lost;
        acl*[device=3]@2=500000; acl*[device=3]=lost; acl*=lost";
    let injection = Injection::new(parse(text, WORDS).unwrap(), 2);
    // A call can name any device, but only an existing one can be lost.
    injection.call("aclrtSetDevice", || MatchContext { device: Some(3), ..MatchContext::default() });
    injection.call("aclInit", MatchContext::default);
    let lines: Vec<String> = injection.rules().iter().map(|rule| rule.summary(2)).collect();
    assert_eq!(lines[0], "0 calls, never fired");
    assert_eq!(lines[1], "0 calls, never fired; device 2 does not exist");
    assert_eq!(lines[2], "0 transfers, never fired; device 5 does not exist");
    assert_eq!(lines[3], "1 call, never fired");
    assert_eq!(lines[4], "0 calls, never fired; device 3 does not exist");
    assert_eq!(lines[5], "0 calls, never fired");
    assert!(injection.summary()[1].ends_with(&lines[1]));
}

#[test]
fn ecc_offset_beyond_allocation_does_not_match() {
    let injection = Injection::new(parse("allocation=ecc 4KiB+64; allocation@2=ecc", WORDS).unwrap(), 2);
    for size in [1024, 4096, 4097] {
        let context = || MatchContext { size: Some(size), ..MatchContext::default() };
        injection.first_firing(|point| *point == InjectionPoint::Allocation, context);
    }
    let lines: Vec<String> = injection.rules().iter().map(|rule| rule.summary(2)).collect();
    assert_eq!(lines[0], "1 allocation, fired once (allocation 1)");
    assert_eq!(lines[1], "3 allocations, fired once (allocation 2)");
}

#[test]
fn chance_depends_only_on_seed_and_match_number() {
    let fired = |text: &str| {
        let injection = Injection::new(parse(text, WORDS).unwrap(), 2);
        (0..1000).map(|_| injection.call("aclrtMalloc", MatchContext::default).is_some()).collect::<Vec<_>>()
    };
    let first = fired("aclrtMalloc@10%:42=207001");
    assert_eq!(first, fired("aclrtMalloc@10%:42=207001"));
    assert_ne!(first, fired("aclrtMalloc@10%:43=207001"));
    let count = first.iter().filter(|fired| **fired).count();
    assert!((60..140).contains(&count), "{count} of 1000 at 10%");
    assert!(fired("aclrtMalloc@0%=207001").iter().all(|fired| !fired));
    assert!(fired("aclrtMalloc@100%=207001").iter().all(|fired| *fired));
}

#[test]
fn tasks_are_of_their_device_and_links_of_both() {
    let fires = |rule: &str, device, peer| {
        let injection = Injection::new(parse(rule, WORDS).unwrap(), 4);
        let context = || MatchContext { stream: Some(1), device: Some(device), peer, ..MatchContext::default() };
        injection.first_firing(|_| true, context).is_some()
    };
    assert!(fires("copy[device=0]=slow 1ms", 0, Some(1)) && !fires("copy[device=1]=slow 1ms", 0, Some(1)));
    assert!(fires("copy[peer=1]=slow 1ms", 0, Some(1)) && fires("copy[peer=1]=slow 1ms", 1, Some(0)));
    assert!(!fires("copy[peer=1]=slow 1ms", 1, None) && !fires("copy[peer=1]=slow 1ms", 0, Some(2)));
    assert!(fires("copy[device=1,peer=0]=slow 1ms", 0, Some(1)));
    assert!(parse("link[device=0,peer=1]=slow 2ms", WORDS).is_ok() && parse("link=stuck", WORDS).is_err());
}

#[test]
fn link_has_no_direction_and_damage_lasts_until_repair() {
    let rules = parse("link[device=1, peer=0]@2=lost", WORDS).unwrap();
    let injection = Injection::new(rules, 2);
    let cross = |device, peer| {
        let context = || MatchContext { device: Some(device), peer: Some(peer), ..MatchContext::default() };
        injection.first_firing(|point| *point == InjectionPoint::Link, context).is_some()
    };
    assert!(!cross(0, 1) && !cross(0, 2) && cross(0, 1));
    let mut damage = Damage::default();
    damage.break_link(1, 0);
    damage.mark_bad(BadRange { device: 0, start: 4096, len: 64 });
    assert!(damage.is_link_broken(0, 1) && damage.has_broken_link(1) && !damage.has_broken_link(2));
    assert!(damage.bad(4159, 1).is_some() && damage.bad(4160, 1).is_none() && damage.bad(0, 4096).is_none());
    assert!(!damage.repair(1, 4096, 64) && damage.repair(0, 4096, 1) && damage.bad(4096, 64).is_none());
    damage.reset(0);
    assert!(!damage.is_link_broken(0, 1));
}
