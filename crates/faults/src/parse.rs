//! Parser of fault rules. A rule is `POINT[FILTERS]@WHEN=EFFECT`; filters and `@WHEN` are optional.
//!
//! An error has a line, a column, what was expected there and what is allowed. The parser has no list of functions and
//! codes: the caller passes a `Vocabulary`.

use crate::MAX_DEVICES;
use crate::rule::{ByteRange, Comparison, Effect, Filters, InjectionPoint, POINTS, Resource, Rule, When};
use softacl_profiles::closest_match;
use std::fmt;
use std::time::Duration;

/// The names of functions and codes that rules can use.
#[derive(Clone, Copy)]
pub struct Vocabulary {
    /// Checks that a rule may name a function. The error is the reason why not.
    pub function: fn(&str) -> Result<(), String>,
    /// A function with a similar name.
    pub near: fn(&str) -> Option<&'static str>,
    /// The value of a named code.
    pub code: fn(&str) -> Option<i32>,
}

/// An error in the text of the rules, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    pub line: usize,
    /// In characters, starting at 1.
    pub column: usize,
    pub message: String,
    /// The line with the error.
    pub text: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 1 {
            write!(f, "line {}, ", self.line)?;
        }
        let indent = " ".repeat(self.column - 1);
        write!(f, "column {}: {}\n  {}\n  {indent}^", self.column, self.message, self.text)
    }
}

impl std::error::Error for RuleError {}

/// Parses rules: one per line, or several separated by `;`. `#` starts a comment.
pub fn parse(text: &str, words: Vocabulary) -> Result<Vec<Rule>, RuleError> {
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut reader = Reader { line, at: 0 };
        loop {
            reader.skip_spaces();
            match reader.peek() {
                None | Some('#') => break,
                Some(';') => reader.at += 1,
                Some(_) => rules.push(reader.rule(words).map_err(|(at, message)| RuleError {
                    line: number + 1,
                    column: line[..at].chars().count() + 1,
                    message,
                    text: line.replace('\t', " "),
                })?),
            }
        }
    }
    Ok(rules)
}

/// Byte offset and message.
type Mistake = (usize, String);
type Read<T> = Result<T, Mistake>;

/// A cursor in one line.
struct Reader<'a> {
    line: &'a str,
    /// Byte offset.
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skips spaces, and `text` if it follows. Returns `false` if it does not.
    fn take(&mut self, text: &str) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips spaces and returns the longest run of characters for which `kind` holds.
    fn word(&mut self, kind: impl Fn(char) -> bool) -> &'a str {
        self.skip_spaces();
        let rest = self.rest();
        let end = rest.find(|c| !kind(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Fails with what was expected and the character that was found.
    fn wrong<T>(&self, at: usize, expected: &str) -> Read<T> {
        let found = match self.line[at..].chars().next() {
            None => "the end".to_owned(),
            Some(c) => format!("{c:?}"),
        };
        Err((at, format!("expected {expected}, found {found}")))
    }

    /// Skips spaces. Returns the offset of the next character.
    fn here(&mut self) -> usize {
        self.skip_spaces();
        self.at
    }

    fn rule(&mut self, words: Vocabulary) -> Read<Rule> {
        let start = self.at;
        let point = self.point(words)?;
        let mut filters = Filters::default();
        let (mut filtered, mut when) = (false, None);
        loop {
            let at = self.here();
            if !filtered && self.take("[") {
                filters = self.filters(&point)?;
                filtered = true;
            } else if when.is_none() && self.take("@") {
                when = Some(self.when()?);
            } else if self.take("=") {
                break;
            } else {
                let more = match (filtered, when) {
                    (false, None) => "\"[\" and a filter, \"@\" and a number, or \"=\" and an effect",
                    (true, None) => "\"@\" and a number, or \"=\" and an effect",
                    (false, Some(_)) => "\"[\" and a filter, or \"=\" and an effect",
                    (true, Some(_)) => "\"=\" and an effect",
                };
                return self.wrong(at, more);
            }
        }
        let effect = self.effect(&point, words)?;
        let text = self.line[start..self.at].trim_end().to_owned();
        let at = self.here();
        match self.peek() {
            None | Some(';' | '#') => {}
            Some(_) => return self.wrong(at, "\";\" or the end of the rule"),
        }
        Ok(Rule::new(text, point, filters, when.unwrap_or(When::Always), effect))
    }

    fn point(&mut self, words: Vocabulary) -> Read<InjectionPoint> {
        let at = self.here();
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '*');
        let nouns = || POINTS.map(|(word, _)| word).join(", ");
        if name.is_empty() {
            return self.wrong(at, &format!("a function of the API, or one of {}", nouns()));
        }
        if let Some((_, point)) = POINTS.iter().find(|(word, _)| *word == name) {
            return Ok(point.clone());
        }
        if !name.starts_with("acl") {
            let near = closest_match(name, POINTS.map(|(word, _)| word)).or_else(|| (words.near)(name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let why = format!("{name:?} is neither a function of the API (acl...) nor one of {}{hint}", nouns());
            return Err((at, why));
        }
        match name.find('*') {
            Some(star) if star + 1 != name.len() => {
                return Err((at + star, "\"*\" is allowed only at the end of a name".to_owned()));
            }
            _ => (words.function)(name).map_err(|why| (at, why))?,
        }
        Ok(InjectionPoint::Call(name.to_owned()))
    }

    /// The filters up to the closing bracket. The opening bracket is already consumed.
    fn filters(&mut self, point: &InjectionPoint) -> Read<Filters> {
        let allowed: &[&str] = match point {
            InjectionPoint::Call(_) => &["size", "stream", "device"],
            InjectionPoint::Task(_) => &["size", "stream", "device", "peer"],
            InjectionPoint::Allocation => &["size", "device"],
            InjectionPoint::Link => &["size", "device", "peer"],
            InjectionPoint::System(_) => &["size"],
        };
        let mut filters = Filters::default();
        loop {
            let at = self.here();
            let key = self.word(|c| c.is_ascii_alphabetic());
            if !allowed.contains(&key) {
                let found = if key.is_empty() { "nothing".to_owned() } else { format!("{key:?}") };
                return Err((at, format!("expected a filter, found {found}; allowed here: {}", allowed.join(", "))));
            }
            if key == "size" {
                let comparison = self.comparison()?;
                let size = self.size()?;
                filters.sizes.push((comparison, size));
            } else {
                let at = self.here();
                if !self.take("=") {
                    return self.wrong(at, "\"=\" and a number");
                }
                match key {
                    "stream" => filters.stream = Some(self.number("a number")?),
                    "device" => filters.device = Some(self.device()?),
                    _ => filters.peer = Some(self.device()?),
                }
            }
            if let (Some(device), Some(peer)) = (filters.device, filters.peer)
                && device == peer
            {
                return Err((at, format!("a link is between two devices, and both are {device} here")));
            }
            let at = self.here();
            if self.take("]") {
                return Ok(filters);
            }
            if !self.take(",") {
                return self.wrong(at, "\",\" or \"]\"");
            }
        }
    }

    fn comparison(&mut self) -> Read<Comparison> {
        let at = self.here();
        for (sign, comparison) in [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::More),
            ("<", Comparison::Less),
            ("=", Comparison::Equal),
        ] {
            if self.take(sign) {
                return Ok(comparison);
            }
        }
        self.wrong(at, "one of = < <= > >=")
    }

    /// The match numbers after `@`.
    fn when(&mut self) -> Read<When> {
        let at = self.here();
        let digits = self.word(|c| c.is_ascii_digit() || c == '.');
        if self.take("%") {
            let percent = digits.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            let Some(percent) = percent else {
                return Err((at, format!("{digits:?} is not a percentage from 0 to 100")));
            };
            let seed = if self.take(":") { self.number("a seed")? } else { 0 };
            return Ok(When::Chance { percent, seed });
        }
        let first = match self.whole(at, digits, "3 (the third), 3+ (from then on), 3-5, or 10%:SEED")? {
            0 => return Err((at, "numbers start at 1".to_owned())),
            first => first,
        };
        let last = if self.take("+") {
            u64::MAX
        } else if self.take("-") {
            let at = self.here();
            let last = self.number("the last number")?;
            if last < first {
                return Err((at, format!("{last} comes before {first}")));
            }
            last
        } else {
            first
        };
        Ok(When::Numbers { first, last })
    }

    fn effect(&mut self, point: &InjectionPoint, words: Vocabulary) -> Read<Effect> {
        let at = self.here();
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        let effect = match word {
            "slow" => Effect::Slow(self.duration()?),
            "stuck" => Effect::Stuck,
            "ecc" => Effect::Ecc(self.part()?),
            "lost" => Effect::Lost,
            "fail" => Effect::Refused,
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => match word.parse() {
                Ok(code @ 100_000..=999_999) if ascendcl_sys::code_name(code).is_some() => Effect::Code(code),
                Ok(100_000..=999_999) => return Err((at, unknown_code(word))),
                _ => return Err((at, format!("{word:?} is not a code: codes have six digits, such as 207001"))),
            },
            _ if word.starts_with("ACL") => match (words.code)(word) {
                Some(code) => Effect::Code(code),
                None => return Err((at, format!("code {word} does not exist"))),
            },
            _ => return Err((at, unknown_effect(word, point))),
        };
        if is_allowed(point, effect) { Ok(effect) } else { Err((at, unknown_effect(word, point))) }
    }

    /// An optional part of an allocation, such as `4096+64`.
    fn part(&mut self) -> Read<Option<ByteRange>> {
        self.skip_spaces();
        if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Ok(None);
        }
        let offset = self.size()?;
        let at = self.here();
        if !self.take("+") {
            return self.wrong(at, "\"+\" and a length");
        }
        let at = self.here();
        match self.size()? {
            0 => Err((at, "the length is 0".to_owned())),
            len => Ok(Some(ByteRange { offset, len })),
        }
    }

    fn number(&mut self, what: &str) -> Read<u64> {
        let at = self.here();
        let digits = self.word(|c| c.is_ascii_digit());
        self.whole(at, digits, what)
    }

    /// Converts digits to a number.
    fn whole(&self, at: usize, digits: &str, what: &str) -> Read<u64> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) if is_number => Err((at, format!("{digits} is too large: {} is the largest number", u64::MAX))),
            Err(_) if digits.is_empty() => self.wrong(at, what),
            Err(_) => Err((at, format!("expected {what}, found {digits:?}"))),
        }
    }

    /// A device id. The parser checks only the limit of every machine, not the devices of this one.
    fn device(&mut self) -> Read<u64> {
        let at = self.here();
        let device = self.number("a device id")?;
        if device < MAX_DEVICES as u64 {
            return Ok(device);
        }
        let last = MAX_DEVICES - 1;
        Err((at, format!("device {device} does not exist: a machine has at most {MAX_DEVICES} devices (0 to {last})")))
    }

    /// A number of bytes, with an optional unit.
    fn size(&mut self) -> Read<u64> {
        let at = self.here();
        let number = self.number("a size such as 4096, 64KiB or 1MiB")?;
        let unit_at = self.at;
        let unit = self.word(|c| c.is_ascii_alphabetic());
        let shift = match unit {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => return Err((unit_at, format!("{unit:?} is not a unit; allowed: B, KiB, MiB, GiB"))),
        };
        number.checked_mul(1 << shift).ok_or((at, format!("{number} {unit} are too many bytes")))
    }

    fn duration(&mut self) -> Read<Duration> {
        let at = self.here();
        let number = self.number("a time such as 20ms")?;
        let unit_at = self.at;
        let unit = self.word(|c| c.is_ascii_alphabetic());
        let micros = match unit {
            "us" => Some(number),
            "ms" => number.checked_mul(1000),
            "s" => number.checked_mul(1_000_000),
            "" => return Err((unit_at, format!("a time needs a unit, such as {number}ms; allowed: us, ms, s"))),
            _ => return Err((unit_at, format!("{unit:?} is not a unit of time; allowed: us, ms, s"))),
        };
        micros
            .filter(|micros| *micros <= MAX_DELAY_US)
            .map(Duration::from_micros)
            .ok_or((at, "a delay is at most one hour; use stuck for a task that never starts".to_owned()))
    }
}

/// Longest delay of a `slow` rule, in microseconds.
const MAX_DELAY_US: u64 = 3600 * 1_000_000;

fn is_allowed(point: &InjectionPoint, effect: Effect) -> bool {
    match (point, effect) {
        (InjectionPoint::Call(_) | InjectionPoint::Link, Effect::Code(_) | Effect::Lost) => true,
        (InjectionPoint::Link, Effect::Slow(_)) => true,
        (InjectionPoint::Task(_), Effect::Ecc(part)) => part.is_none(),
        (InjectionPoint::Task(_), effect) => effect != Effect::Refused,
        (InjectionPoint::Allocation, effect) => matches!(effect, Effect::Code(_) | Effect::Ecc(_)),
        (InjectionPoint::System(_), effect) => effect == Effect::Refused,
        _ => false,
    }
}

/// A program that handles errors by their codes would never see this one on a card.
fn unknown_code(word: &str) -> String {
    let known: Vec<String> = ascendcl_sys::CODES.iter().map(|(code, _)| code.to_string()).collect();
    let near = closest_match(word, known.iter().map(String::as_str));
    let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("code {word} does not exist{hint}")
}

fn unknown_effect(word: &str, point: &InjectionPoint) -> String {
    let (of, allowed) = match point {
        InjectionPoint::Call(_) => ("a function", "a code (207001 or ACL_ERROR_...), lost"),
        InjectionPoint::Task(_) => ("a task", "a code (507013 or ACL_ERROR_...), slow TIME, stuck, ecc, lost"),
        InjectionPoint::Allocation => ("an allocation", "a code (207001 or ACL_ERROR_...), ecc, ecc OFFSET+LENGTH"),
        InjectionPoint::Link => ("a link", "a code (507899 or ACL_ERROR_...), slow TIME, lost"),
        InjectionPoint::System(Resource::Thread) => ("a thread", "fail"),
        InjectionPoint::System(_) => ("a system resource", "fail"),
    };
    let found = if word.is_empty() {
        "expected an effect".to_owned()
    } else {
        format!("{word:?} is not an effect that is possible here")
    };
    format!("{found}; for {of}: {allowed}")
}
