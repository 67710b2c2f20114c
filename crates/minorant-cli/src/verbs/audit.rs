//! `minorant audit`: checks the certificate of a model against its data.

use crate::args::AuditArgs;
use crate::output::{self, maybe};
use minorant::audit::Audit;
use minorant::family::FittedModel;
use minorant::options::read_numbers;
use serde_json::json;
use std::process::ExitCode;

/// The exit code of an audit that found nothing to check.
const NOTHING_TO_CHECK: u8 = 3;

pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let fitted = &args.fitted;
    let mut model = FittedModel::load(&fitted.model)?;
    let settings = fitted.reading(model.facts.settings.entry())?;
    if let Some(path) = &args.proof {
        model.load_proof(path)?;
    }
    // Without a bound to check, the data need not be read.
    if let Some(audit) = model.without_a_bound() {
        return show(&audit, fitted.json);
    }
    let weights = args.weights.as_deref().map(read_numbers).transpose();
    let weights = weights.map_err(anyhow::Error::msg)?;
    fitted.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = model.read_for_audit(&settings, &fitted.files)?;
        show(&model.audit(data.view(), weights.as_deref()), fitted.json)
    })?
}

/// Shows what an audit found; one that does not hold is an error.
fn show(audit: &Audit, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let object = json!({
            "holds": audit.holds,
            "objective": maybe(audit.objective),
            "lower_bound": maybe(audit.lower_bound),
            "why": audit.why,
        });
        output::print(&object.to_string())?;
    }
    match audit.holds {
        Some(true) if !as_json => {
            output::print(&format!("the certificate holds: {}", audit.why))?;
        }
        Some(true) => {}
        Some(false) => anyhow::bail!("the certificate does not hold: {}", audit.why),
        None => {
            output::tell(&format!("there is nothing to check: {}", audit.why));
            return Ok(ExitCode::from(NOTHING_TO_CHECK));
        }
    }
    Ok(ExitCode::SUCCESS)
}
