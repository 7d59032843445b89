//! Two launchers, test by test.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Serialize;

use super::lists::ListedTest;
use super::run::TestResult;

/// How often a test passed when it was run again by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tries {
    /// With the library's own launcher.
    pub stock: u32,
    /// With ours.
    pub ours: u32,
    /// Out of so many each.
    pub of: u32,
}

/// One test.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub directory: String,
    /// Why the suite expects it to fail.
    pub expected_failure: Option<String>,
    /// With the library's own launcher.
    pub stock: TestResult,
    /// With ours.
    pub ours: TestResult,
    /// Where the two differed: what happened when it was run again by itself.
    pub again: Option<Tries>,
}

impl Compared {
    /// Whether it passed with one launcher alone.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.stock.passed() != self.ours.passed()
    }

    /// Whether it passes with the library's own launcher and not with ours, also when it is run again:
    /// then ours is to blame.
    #[must_use]
    pub fn lost(&self) -> bool {
        self.stock.passed()
            && !self.ours.passed()
            && self.again.is_none_or(|tries| tries.ours < tries.stock)
    }
}

/// All of them, in the order of the lists.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The tests.
    pub tests: Vec<Compared>,
}

impl Comparison {
    /// The outcomes of the `listed` tests, first with the library's own launcher, then with ours.
    ///
    /// # Errors
    ///
    /// One of them has none.
    pub fn pair(listed: &[ListedTest], both: &[BTreeMap<String, TestResult>; 2]) -> Result<Self> {
        let mut tests = Vec::new();
        for test in listed {
            let [stock, ours] = both;
            let (Some(stock), Some(ours)) = (stock.get(&test.name), ours.get(&test.name)) else {
                bail!("{}: listed, but was not run", test.name);
            };
            tests.push(Compared {
                name: test.name.clone(),
                directory: test.directory.clone(),
                expected_failure: test.expected_failure.clone(),
                stock: stock.clone(),
                ours: ours.clone(),
                again: None,
            });
        }
        Ok(Self { tests })
    }

    /// Those that pass with the library's own launcher and not with ours.
    pub fn lost(&self) -> impl Iterator<Item = &Compared> {
        self.tests.iter().filter(|test| test.lost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpich_suite::run::TestVerdict;

    fn outcome(passed: bool) -> TestResult {
        let verdict = if passed {
            TestVerdict::Passed
        } else {
            TestVerdict::Failed {
                output: "Found 1 errors".into(),
            }
        };
        TestResult {
            verdict,
            seconds: 1.0,
        }
    }

    fn compared(stock: bool, ours: bool, again: Option<Tries>) -> Compared {
        Compared {
            name: "coll/allred 4".into(),
            directory: "coll".into(),
            expected_failure: None,
            stock: outcome(stock),
            ours: outcome(ours),
            again,
        }
    }

    #[test]
    fn ours_is_to_blame_for_what_stock_passes_also_when_tried_again() {
        let tries = |stock, ours| Some(Tries { stock, ours, of: 3 });
        assert!(compared(true, false, None).lost());
        assert!(compared(true, false, tries(3, 0)).lost());
        assert!(compared(true, false, tries(3, 2)).lost());
        assert!(!compared(true, false, tries(3, 3)).lost());
        assert!(!compared(true, false, tries(0, 0)).lost());
        assert!(!compared(false, true, None).lost());
        assert!(!compared(false, false, None).lost());
    }

    #[test]
    fn a_listed_test_without_an_outcome_is_an_error() {
        let listed = ListedTest {
            directory: "coll".into(),
            list: "testlist".into(),
            line: "allred 4".into(),
            name: "coll/allred 4".into(),
            expected_failure: None,
        };
        let with = |passed| BTreeMap::from([("coll/allred 4".to_owned(), outcome(passed))]);
        let both = [with(true), with(false)];
        let paired = Comparison::pair(std::slice::from_ref(&listed), &both).unwrap();
        assert_eq!(paired.lost().count(), 1);
        let error = Comparison::pair(&[listed], &[with(true), BTreeMap::new()]).unwrap_err();
        assert!(error.to_string().contains("coll/allred 4"), "{error}");
    }
}
