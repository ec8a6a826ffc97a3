//! The result of an exploration: how many orders a program has, and those in which it fails.
//!
//! Data for the renderers, and its text. Which orders exist and how they are found is not decided here.

use super::format::escape;
use super::order_svg::{self, OrderDrawing};
use serde::Serialize;
use std::fmt::Write as _;

/// The result of exploring the orders of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Exploration {
    /// Orders that are known: those that were run, and branches that are left.
    pub orders: u64,
    /// Orders that were run to their end.
    pub explored: u64,
    /// Runs of the program, including those that ended early because they could add nothing.
    pub runs: u64,
    /// True if there are no other orders.
    pub complete: bool,
    /// The bound that ended the exploration, such as `--orders 1000`.
    pub bound: Option<String>,
    /// Random orders that were run after that.
    pub random_runs: u64,
    /// What else limits the result, as sentences.
    pub limits: Vec<String>,
    /// Findings of the checker that some order proved.
    pub proven: u64,
    pub findings: Vec<OrderFinding>,
}

/// A failure of the program, or a finding of the checker, that depends on the order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OrderFinding {
    /// Such as "exit code 1" or the id of a finding.
    pub what: String,
    /// True if the program itself fails. False if the checker has a finding.
    pub is_failure: bool,
    /// The first run that showed it, counted from 1.
    pub run: u64,
    /// The decisions that lead there, as sentences. Empty if every task runs as soon as it can.
    pub order: Vec<String>,
    /// These decisions among the steps around them.
    pub drawing: OrderDrawing,
    /// The file for `--schedule replay:FILE`.
    pub order_file: Option<String>,
    pub repro_command: String,
}

impl Exploration {
    /// Summary such as `1,284 orders, all explored, 0 findings`.
    pub fn summary(&self) -> String {
        let plural = |count: u64, noun: &str| format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" });
        let failures = self.findings.iter().filter(|finding| finding.is_failure).count() as u64;
        let found = plural(self.proven + failures, "finding");
        if self.complete {
            return format!("{}, all explored, {found}", plural(self.explored, "order"));
        }
        let at_least =
            if self.orders > self.explored { format!(" of at least {}", grouped(self.orders)) } else { String::new() };
        let orders = if self.orders == 1 { "order" } else { "orders" };
        let mut text = format!("{}{at_least} {orders} explored, not all, {found}", grouped(self.explored));
        if let Some(bound) = &self.bound {
            write!(text, "; stopped by {bound}").expect(TEXT);
        }
        text
    }

    /// The findings and the summary, as lines for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for finding in &self.findings {
            let verb = if finding.is_failure { "FAILS" } else { "ORDER" };
            lines.push(format!("{verb}  {} in this order (run {}):", finding.what, grouped(finding.run)));
            if finding.order.is_empty() {
                lines.push("  every task runs as soon as it can".to_owned());
            }
            lines.extend(finding.order.iter().map(|sentence| format!("  {sentence}")));
            lines.push(format!("  repeat  {}", finding.repro_command));
            lines.push(String::new());
        }
        lines.extend(self.limits.iter().map(|limit| format!("note  {limit}")));
        lines.push(format!("softacl check: {}", self.summary()));
        lines
    }

    /// The findings as part of an HTML page.
    pub fn html(&self) -> String {
        let mut page = format!("<section class=\"orders\"><p><b>{}</b></p>\n", escape(&self.summary()));
        for limit in &self.limits {
            writeln!(page, "<p class=\"note\">{}</p>", escape(limit)).expect(TEXT);
        }
        for finding in &self.findings {
            let (class, verb) = if finding.is_failure { ("proven", "FAILS") } else { ("advice", "ORDER") };
            write!(
                page,
                "<article class=\"{class}\"><h2><b class=\"{class}\">{verb}</b> {} in this order</h2><ol>",
                escape(&finding.what)
            )
            .expect(TEXT);
            if finding.order.is_empty() {
                page.push_str("<li>every task runs as soon as it can</li>");
            }
            for sentence in &finding.order {
                write!(page, "<li>{}</li>", escape(sentence)).expect(TEXT);
            }
            writeln!(
                page,
                "</ol>{}<p class=\"repeat\">Repeat with <code>{}</code></p></article>",
                order_svg::draw(&finding.drawing),
                escape(&finding.repro_command)
            )
            .expect(TEXT);
        }
        page.push_str("</section>\n");
        page
    }
}

const TEXT: &str = "writing to a String cannot fail";

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_says_whether_orders_are_left() {
        let mut result = Exploration { orders: 1284, explored: 1284, complete: true, ..Exploration::default() };
        assert_eq!(result.summary(), "1,284 orders, all explored, 0 findings");
        result.orders = 1;
        result.explored = 1;
        assert_eq!(result.summary(), "1 order, all explored, 0 findings");
        result.proven = 2;
        result.findings = [true, false].map(|is_failure| OrderFinding { is_failure, ..OrderFinding::default() }).into();
        assert_eq!(result.summary(), "1 order, all explored, 3 findings");
        let bound = Some("--orders 10".to_owned());
        let result = Exploration { orders: 25, explored: 10, bound, ..Exploration::default() };
        assert_eq!(result.summary(), "10 of at least 25 orders explored, not all, 0 findings; stopped by --orders 10");
    }

    #[test]
    fn failing_order_is_printed_with_its_command() {
        let finding = OrderFinding {
            what: "exit code 1".to_owned(),
            is_failure: true,
            run: 7,
            order: vec!["task 1 of stream 2 runs after task 3 of stream 1 <a.c:4>".to_owned()],
            drawing: OrderDrawing::default(),
            order_file: Some("order.txt".to_owned()),
            repro_command: "softacl check --schedule replay:order.txt -- ./app".to_owned(),
        };
        let result = Exploration { findings: vec![finding], ..Exploration::default() };
        let text = result.lines().join("\n");
        assert!(
            text.starts_with("FAILS  exit code 1 in this order (run 7):\n  task 1 of stream 2 runs after"),
            "{text}"
        );
        assert!(text.contains("repeat  softacl check --schedule replay:order.txt -- ./app"));
        assert!(result.html().contains("&lt;a.c:4&gt;"));
    }
}
