//! What was said, as the rail shows it. The server renders it; while an answer streams, the browser
//! puts its pieces in place.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    draft_card::DraftCard,
    icon::{Glyph, Icon},
    when::When,
};
use crate::{
    app::server_fns::{
        answers::StopRun,
        rail::{GoOnRun, RetryRun},
    },
    domain::{
        id::{CallId, MessageId, PartId},
        message::{Role, ToolCall, ToolResult},
        proposal::Proposal,
        run::{Run, RunStatus, Spent, StopReason, told_time},
        timestamp::Timestamp,
        visible::visible,
    },
};

/// A piece of a turn.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Words, rendered.
    Words {
        /// The part.
        part: PartId,
        /// As HTML.
        html: String,
    },
    /// The model's thoughts, rendered.
    Thoughts {
        /// The part.
        part: PartId,
        /// As HTML.
        html: String,
    },
    /// A tool at work, or done.
    Step {
        /// What was wanted.
        call: ToolCall,
        /// What came of it.
        result: Option<ToolResult>,
        /// How many milliseconds it took, where that is known.
        took_ms: Option<u64>,
    },
    /// A draft.
    Draft(Box<Proposal>),
}

/// One message.
#[derive(Clone, Debug)]
pub struct ShownTurn {
    /// The message.
    pub id: MessageId,
    /// Who says it.
    pub role: Role,
    /// What they are called.
    pub who: String,
    /// What it consists of.
    pub pieces: Vec<Piece>,
    /// When.
    pub at: Timestamp,
    /// The model that wrote it.
    pub model: String,
    /// Why it ends where it ends.
    pub stop: Option<StopReason>,
    /// What it took.
    pub spent: Spent,
    /// The run, for the last message.
    pub run: Option<Run>,
    /// What goes on at the moment, when it is something special.
    pub told: Option<String>,
    /// Whether its last words ask something.
    pub asks: bool,
}

/// Whether words end with a question, in quotes or brackets or not.
pub fn asks(words: &str) -> bool {
    let closing = |letter: char| letter.is_whitespace() || "\"'”’»)]*_`".contains(letter);
    words.trim_end_matches(closing).ends_with(['?', '？'])
}

/// The element that holds the pieces of a message.
pub fn pieces_id(message: &MessageId) -> String {
    format!("pieces-{message}")
}

/// The element below the pieces of a message.
pub fn foot_id(message: &MessageId) -> String {
    format!("foot-{message}")
}

/// The element of words or thoughts.
pub fn part_id(part: &PartId) -> String {
    format!("part-{part}")
}

/// The element within thoughts that holds the words.
pub fn thoughts_id(part: &PartId) -> String {
    format!("thoughts-{part}")
}

/// The element of a tool's step.
pub fn step_id(call: &CallId) -> String {
    format!("step-{call}")
}

/// One turn of the conversation.
#[component]
pub fn TurnView(
    /// The turn.
    turn: ShownTurn,
) -> impl IntoView {
    let side = match turn.role {
        Role::User => "turn you",
        Role::Assistant => "turn",
    };
    let live = turn.run.as_ref().is_some_and(|run| !run.status.is_over()).then_some("");
    let foot = view! { <TurnFoot turn=turn.clone()/> };
    view! {
        <li class=side id=format!("turn-{}", turn.id) data-live=live>
            <p class="who"><strong>{turn.who}</strong> <When at=turn.at/></p>
            <div class="pieces" id=pieces_id(&turn.id)>
                {turn.pieces.into_iter().map(|piece| view! { <PieceView piece/> }).collect_view()}
            </div>
            {foot}
        </li>
    }
}

/// One piece.
#[component]
pub fn PieceView(
    /// The piece.
    piece: Piece,
) -> impl IntoView {
    match piece {
        Piece::Words { part, html } => {
            view! { <div class="prose" id=part_id(&part) inner_html=html></div> }.into_any()
        }
        Piece::Thoughts { part, html } => view! {
            <details class="thoughts" id=part_id(&part)>
                <summary>"Thoughts"</summary>
                <div class="prose" id=thoughts_id(&part) inner_html=html></div>
            </details>
        }
        .into_any(),
        Piece::Step { call, result, took_ms } => step(call, result, took_ms).into_any(),
        Piece::Draft(draft) => view! { <DraftCard draft=*draft place="rail"/> }.into_any(),
    }
}

/// A line of the ledger, which opens to what went in and came out.
fn step(call: ToolCall, result: Option<ToolResult>, took_ms: Option<u64>) -> impl IntoView {
    let (mark, state) = match &result {
        None => ("…", "running"),
        Some(result) if result.is_error => ("✗", "failed"),
        Some(_) => ("✓", "done"),
    };
    let output = visible(result.map(|result| result.output).unwrap_or_default());
    let brief = visible(brief(&call.input));
    view! {
        <details class="step" id=step_id(&call.call) data-state=state>
            <summary>
                <span aria-hidden="true">{mark}</span> " " {visible(call.name)} <span class="sr">" " {state}</span>
                {(!brief.is_empty()).then(|| view! { <span class="step-brief">{brief}</span> })}
                {took_ms.map(|took| view! { <span class="step-took">{told_time(took)}</span> })}
            </summary>
            <p class="small faint">"In"</p>
            {given(&call.input)}
            {(!output.is_empty()).then(|| view! { <p class="small faint">"Out"</p> <pre>{output}</pre> })}
        </details>
    }
}

/// What a tool is given. Where JSON would write a text otherwise than it is, such as that of a file, texts are shown
/// as they are, and all of it as JSON below.
fn given(input: &serde_json::Value) -> AnyView {
    let json = |value: &serde_json::Value| {
        visible(serde_json::to_string_pretty(value).unwrap_or_default())
    };
    let otherwise = |value: &serde_json::Value| {
        value.as_str().is_some_and(|text| text.contains(['\n', '"', '\\', '\t']))
    };
    if !input.as_object().is_some_and(|fields| fields.values().any(otherwise)) {
        return view! { <pre>{json(input)}</pre> }.into_any();
    }
    let mut rest = input.clone();
    let mut texts: Vec<(String, String)> = Vec::new();
    if let Some(fields) = rest.as_object_mut() {
        fields.retain(|name, value| match value.as_str() {
            Some(text) => {
                texts.push((name.clone(), visible(text.to_owned())));
                false
            }
            None => true,
        });
    }
    // Where it works comes first, and what was there before what comes in its place.
    texts.sort_by_key(|(name, _)| (name != "path", name != "old_string"));
    let rest = rest.as_object().is_some_and(|fields| !fields.is_empty()).then(|| json(&rest));
    view! {
        {texts.into_iter().map(|(name, text)| view! { <p class="small faint">{name}</p> <pre>{text}</pre> }).collect_view()}
        {rest.map(|rest| view! { <pre>{rest}</pre> })}
        <details class="raw"><summary>"As JSON"</summary><pre>{json(input)}</pre></details>
    }
    .into_any()
}

/// The first words of what a tool is given: where it works, if that is said.
fn brief(input: &serde_json::Value) -> String {
    let first = input["path"]
        .as_str()
        .or_else(|| input.as_object()?.values().find_map(|value| value.as_str()));
    first.and_then(|text| text.lines().next()).unwrap_or_default().chars().take(60).collect()
}

/// What stands below a turn: how it ended, what it took, and what one can do.
#[component]
pub fn TurnFoot(
    /// The turn.
    turn: ShownTurn,
    /// What else one can try, beside trying it again.
    #[prop(optional_no_strip)]
    otherwise: Option<AnyView>,
) -> impl IntoView {
    let id = foot_id(&turn.id);
    let run = turn.run;
    let going_on = run.as_ref().is_some_and(|run| !run.status.is_over());
    let told = turn.told.or(match &run {
        Some(run) if going_on => Some(match run.status {
            RunStatus::Queued => "Waiting…".to_owned(),
            _ => "Answering…".to_owned(),
        }),
        Some(run) => run.error.as_ref().map(ToString::to_string).or(match run.status {
            RunStatus::Stopped => Some("Stopped.".into()),
            _ => None,
        }),
        None => None,
    });
    let told = told.or(match turn.stop {
        Some(StopReason::MaxTokens) => Some("The answer is cut off here.".into()),
        Some(StopReason::Refusal) => Some("The model declined.".into()),
        Some(StopReason::Limit) => Some("A limit ended the answer here.".into()),
        Some(StopReason::Other) => Some("The model stopped here.".into()),
        _ => None,
    });
    // Of what came from a file or was put in other words, no model is known.
    let spent = (turn.role == Role::Assistant && !going_on && !turn.model.is_empty())
        .then(|| format!("{} · {}", turn.model, turn.spent.told()));
    let trace = run.as_ref().filter(|_| !going_on).map(|run| format!("/traces/{}", run.id));
    let can_retry = run.as_ref().is_some_and(|run| run.can_retry());
    let can_go_on = run.as_ref().is_some_and(|run| run.broke_off());
    let button = |action: &'static str, label: &'static str, icon: Icon| {
        let id = run.as_ref().map(|run| run.id.to_string()).unwrap_or_default();
        view! {
            <form method="post" action=action data-quiet data-talk="same">
                <input type="hidden" name="id" value=id/>
                <button class="button quiet small"><Glyph icon/> {label}</button>
            </form>
        }
    };
    // An answer that never came has no model either.
    let never_came = run.is_some() && turn.model.is_empty();
    let copies = turn.role == Role::Assistant && !going_on && !never_came;
    // A question waits for words, and an answer that failed for another try.
    let failed = run.as_ref().is_some_and(|run| run.error.is_some());
    let waits = (run.is_some() && !going_on && (turn.asks || failed)).then_some("");
    let told = told.map(|told| match failed && !going_on {
        true => view! { <p class="problem small" role="status">{told}</p> }.into_any(),
        false => view! { <p class="small" class:working=going_on>{told}</p> }.into_any(),
    });
    let tries = view! {
        {going_on.then(|| button(StopRun::url(), "Stop", Icon::Stop))}
        {(!going_on && can_go_on).then(|| button(GoOnRun::url(), "Continue", Icon::Run))}
        {(!going_on && can_retry).then(|| button(RetryRun::url(), "Retry", Icon::Undo))}
    };
    // Where there are several ways to try it again, they have a line of their own.
    let (tries, beside) = match otherwise {
        Some(otherwise) => {
            (Some(view! { <div class="row tight small retry">{tries} {otherwise}</div> }), None)
        }
        None => (None, Some(tries)),
    };
    view! {
        <div class="turn-foot" id=id data-waits=waits>
            {told}
            {tries}
            <div class="row tight faint small">
                {beside}
                {copies.then(|| view! {
                    <button type="button" class="icon tiny needs-script" data-copy=pieces_id(&turn.id) aria-label="Copy this answer" title="Copy">
                        <Glyph icon=Icon::Copy/>
                    </button>
                })}
                {spent.map(|spent| view! { <span>{spent}</span> })}
                {trace.map(|trace| view! { <a href=trace>"Trace"</a> })}
            </div>
        </div>
    }
}
