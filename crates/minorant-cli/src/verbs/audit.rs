//! `minorant audit`: checks the certificate of a model against its data.

use crate::args::{AuditArgs, on_threads};
use crate::output;
use minorant::audit::Audit;
use minorant::data::read_numbers;
use minorant::family::{FittedModel, weights_in};
use serde_json::json;

/// An audit that found nothing to check.
#[derive(Debug, thiserror::Error)]
#[error("there is nothing to check: {0}")]
pub(crate) struct NothingToCheck(String);

pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<()> {
    let fitted = &args.fitted;
    let mut model = FittedModel::load(&fitted.model)?;
    let settings = fitted.data.reading.settings(model.facts.settings.entry())?;
    if let Some(path) = &args.proof {
        model.load_proof(path)?;
    }
    // Without a bound to check, the data need not be read.
    if let Some(audit) = model.without_a_bound() {
        return show(audit, fitted.data.json);
    }
    let weights = args.weights.as_deref().map(read_numbers).transpose();
    let weights = match weights.map_err(anyhow::Error::msg)? {
        None => weights_in(&fitted.data.files)?,
        given => given,
    };
    on_threads(fitted.data.threads, || {
        let data = model.read_for_audit(&settings, &fitted.data.files)?;
        show(model.audit(data.view(), weights.as_deref()), fitted.data.json)
    })
}

/// Shows what an audit found; one that does not hold is an error.
fn show(audit: Audit, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let object = json!({
            "holds": audit.holds,
            "objective": audit.objective,
            "lower_bound": audit.lower_bound,
            "why": audit.why,
        });
        output::print(&object.to_string())?;
    }
    match audit.holds {
        Some(true) if as_json => Ok(()),
        Some(true) => output::print(&format!("the certificate holds: {}", audit.why)),
        Some(false) => anyhow::bail!("the certificate does not hold: {}", audit.why),
        None => Err(NothingToCheck(audit.why.to_string()).into()),
    }
}
