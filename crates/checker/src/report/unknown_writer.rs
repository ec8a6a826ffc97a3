//! Why a finding about a changed source names no write, and how to learn the line.

use crate::finding::Finding;

/// Explains a missing write. `None` if the write is known or if the finding has none.
pub fn reason(finding: &Finding) -> Option<&'static str> {
    let has_role = |role: &str| finding.operations.iter().any(|part| part.role == role);
    if finding.id != "H1" || has_role("the write") {
        return None;
    }
    Some(match has_role("registered here") {
        true => {
            "the line is unknown: this part of registered memory is not protected (an edge that shares its page, a \
             stack, a file mapping), so the change was seen only when the copy ran. To learn the line, allocate this buffer with aclrtMallocHost and check again, or run the program with \
             `softacl check --gdb` and set a watchpoint on the byte"
        }
        false => {
            "the line is unknown: the access was not observed (another process, a system call that bypasses the C \
             library, or a store that began before the source). To learn the line, run the program with `softacl check \
             --gdb` and set a watchpoint on the byte"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn missing_write_is_explained_by_the_kind_of_memory() {
        let mut finding = example::report().findings.remove(0);
        assert_eq!(reason(&finding), None);
        finding.operations[1].role = "registered here".into();
        assert!(reason(&finding).is_some_and(|text| text.contains("this part of registered memory is not protected")));
        finding.operations.truncate(1);
        assert!(reason(&finding).is_some_and(|text| text.contains("was not observed")));
        finding.id = "S1".into();
        assert_eq!(reason(&finding), None);
    }
}
