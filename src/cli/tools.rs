//! `greenroom tools`: what the operator's file gives, and what is wrong with it.

use serde_json::json;

use super::{
    chat::{
        follow::{notice, print_line},
        unheard,
    },
    exit::{Exit, Failure},
    place::Place,
};
use crate::{
    agent::{TOOLS_FILE, ToolProblem, Toolbox, Weight},
    config::DemoPace,
    sandbox::Sandbox,
    server,
};

/// How much of what a tool does is shown.
const SHOWN_CHARS: usize = 80;

/// List the tools of chat/tools.yaml, and say what is wrong with it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Print everything as JSON, with the schemas that models are told.
    #[arg(long)]
    pub json: bool,

    /// Where the file is.
    #[command(flatten)]
    pub place: Place,
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    args.place.must_be_here("Tools are listed where their file is: leave --server out.")?;
    let providers = server::providers(DemoPace::Natural, None, &args.place.seal_key())
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let sandbox = std::env::current_exe().ok().map(|binary| Sandbox::new(&binary));
    let file = args.place.chat_folder().join(TOOLS_FILE);
    let toolbox = Toolbox::new(&file, sandbox, providers);
    let tools = toolbox.tools().await;
    toolbox.close().await;
    for problem in &tools.problems {
        notice(&format!("greenroom: {problem}"));
    }
    if args.json {
        let specs = tools.specs().iter().map(|spec| {
            json!({"name": spec.name, "description": spec.description, "schema": spec.schema})
        });
        let problems = tools.problems.iter().map(ToolProblem::to_string);
        let told = json!({
            "items": specs.collect::<Vec<_>>(),
            "problems": problems.collect::<Vec<_>>(),
        });
        print_line(&told.to_string()).map_err(unheard)?;
    } else if tools.specs().is_empty() {
        notice(&format!("There are no tools in {}.", file.display()));
    } else {
        let longest = tools.specs().iter().map(|spec| spec.name.len()).max().unwrap_or_default();
        for spec in tools.specs() {
            let line = spec.description.lines().next().unwrap_or_default();
            let plain = line.chars().filter(|letter| !letter.is_control());
            let shown: String = plain.take(SHOWN_CHARS).collect();
            print_line(&format!("{:longest$}  {shown}", spec.name)).map_err(unheard)?;
        }
    }
    let broken = tools.problems.iter().any(|problem| problem.weight == Weight::Error);
    Ok(if broken { Exit::Configuration } else { Exit::Done })
}
