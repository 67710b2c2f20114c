//! `minorant audit`.

use crate::args::AuditArgs;
use crate::output::{self, maybe};
use minorant::audit::Audit;
use minorant::data::LabelKind;
use minorant::model::{AnyModel, TaskName};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let mut model = match AnyModel::load(&args.model)? {
        AnyModel::Linear(model) => model,
        AnyModel::Chain(model) => return super::chain::audit(model, args),
        AnyModel::Kernel(model) => {
            let audit = Audit {
                holds: false,
                objective: None,
                lower_bound: None,
                why: format!(
                    "not auditable: {} is not convex and carries no proof of a global bound",
                    model.model.as_str()
                ),
            };
            return show(&audit, args.json);
        }
        AnyModel::Hmm(_) => return super::hmm::audit(args),
        AnyModel::Image(model) => return super::image::audit(model, args),
        AnyModel::Neuro(_) => return super::neuro::audit(args),
    };
    if let Some(path) = &args.proof {
        model.load_proof(path)?;
    }
    let weights = args.example_weights()?;
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let mut options = args.data.options();
        if model.task == TaskName::Multilabel {
            options.label_kind = Some(LabelKind::Multilabel);
        }
        let data = minorant::data::read(&args.data.files, &options)?;
        let audit = minorant::audit::audit(&model, &data, weights.as_deref());
        show(&audit, args.json)
    })?
}

/// Shows what an audit found; one that does not hold is an error.
pub(super) fn show(audit: &Audit, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let object = json!({
            "holds": audit.holds,
            "objective": maybe(audit.objective),
            "lower_bound": maybe(audit.lower_bound),
            "why": audit.why,
        });
        output::print(&object.to_string())?;
    } else if audit.holds {
        output::print(&format!("the certificate holds: {}", audit.why))?;
    }
    if !audit.holds {
        anyhow::bail!("the certificate does not hold: {}", audit.why);
    }
    Ok(ExitCode::SUCCESS)
}
