//! A planned operator: what it reads and writes, and the work itself.

use super::memory::Memory;
use super::view::View;
use nnopbase::status::Failure;

/// Result of planning.
pub type Planned = Result<Plan, Failure>;

/// Why an operator fails while it runs, for the message.
pub type Trouble = String;

type Work = Box<dyn Fn(&Memory) -> Result<(), Trouble> + Send + Sync>;

/// How a plan uses a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// Elements that depend on data, such as rows that an index selects. The checker judges what is declared, and a
    /// declaration of rows that are not used would accuse correct programs; so nothing is declared.
    Some,
}

/// Everything that phase two needs.
pub struct Plan {
    pub accesses: Vec<(View, Access)>,
    /// `None` if there is nothing to do: all outputs are empty.
    pub work: Option<Work>,
}

impl Plan {
    /// A plan without work.
    pub fn nothing() -> Plan {
        Plan { accesses: Vec::new(), work: None }
    }

    pub fn new() -> Plan {
        Plan { accesses: Vec::with_capacity(4), work: None }
    }

    /// Adds the work of another plan, to be done after this one.
    pub fn append(&mut self, other: Plan) {
        self.accesses.extend(other.accesses);
        self.work = match (self.work.take(), other.work) {
            (Some(first), Some(second)) => Some(Box::new(move |memory| first(memory).and_then(|()| second(memory)))),
            (first, second) => first.or(second),
        };
    }

    /// One plan that does the work of several in their order.
    pub fn all(plans: Vec<Plan>) -> Plan {
        let mut all = Plan::new();
        let mut works: Vec<Work> = Vec::with_capacity(plans.len());
        for plan in plans {
            all.accesses.extend(plan.accesses);
            works.extend(plan.work);
        }
        if !works.is_empty() {
            all.work = Some(Box::new(move |memory| works.iter().try_for_each(|work| work(memory))));
        }
        all
    }

    pub fn reads<'a>(mut self, views: impl IntoIterator<Item = &'a View>) -> Plan {
        self.accesses.extend(views.into_iter().map(|view| (view.clone(), Access::Read)));
        self
    }

    pub fn writes<'a>(mut self, views: impl IntoIterator<Item = &'a View>) -> Plan {
        self.accesses.extend(views.into_iter().map(|view| (view.clone(), Access::Write)));
        self
    }

    /// Views of which data decides which elements are used.
    pub fn selects<'a>(mut self, views: impl IntoIterator<Item = &'a View>) -> Plan {
        self.accesses.extend(views.into_iter().map(|view| (view.clone(), Access::Some)));
        self
    }

    /// The work, which cannot fail.
    pub fn run(mut self, work: impl Fn(&Memory) + Send + Sync + 'static) -> Planned {
        self.work = Some(Box::new(move |memory| {
            work(memory);
            Ok(())
        }));
        Ok(self)
    }

    /// Work that depends on data which may be wrong, such as an index.
    pub fn try_run(mut self, work: impl Fn(&Memory) -> Result<(), Trouble> + Send + Sync + 'static) -> Planned {
        self.work = Some(Box::new(work));
        Ok(self)
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan::new()
    }
}
