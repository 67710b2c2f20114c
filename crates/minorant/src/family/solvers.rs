//! The methods that families share, in the order in which they are listed.

use crate::solver::Method::{self, *};

/// Those for risks that are convex.
pub(super) const CONVEX: &[Method] = &[Auto, Bmrm, LmBmrm, PBmrm, ProxBmrm, ProxPBmrm];

/// Those for any risk.
const ANY: [Method; 9] = [Nrbm, NrbmLs, NrbmLsFull, ProxNrbm, Sgd, Gd, Subgradient, Nbm, Lmbm];

/// The names of the methods for any risk, with some before and some behind them.
pub(super) fn names(first: &[Method], last: &[Method]) -> Vec<&'static str> {
    first.iter().chain(&ANY).chain(last).map(|method| method.name()).collect()
}
