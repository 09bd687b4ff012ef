//! What is made for chats while nobody waits: titles, and what roleplay needs to know of a persona.
//!
//! None of it is needed to go on, so that failing is only logged; it is made when it is next missed.

use std::{
    collections::HashSet,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::StreamExt;

use super::{Agent, driver::Prepared, prompt, runs::said};
use crate::{
    changes::{Gate, Scope},
    domain::{
        actor::Actor,
        change::{Change, Op},
        chat::{TITLE, TitledBy},
        error::ApiError,
        id::{ConversationId, PersonaId, SpaceId},
        message::Role,
        model::Model,
        persona::{PersonaFields, RoleplayData},
        run::{Run, Usage},
        tokens::estimate,
        version::Revision,
    },
    providers::{Ask, ModelEvent, Route, Thoughts},
    store::now,
};

/// How long a model may take.
const TIME: Duration = Duration::from_secs(60);
/// The longest answer, in tokens: some models think before they write.
const ANSWER_TOKENS: u64 = 2000;
/// How much of each message a title is made from.
const QUOTED_CHARS: usize = 2000;
/// How much of a prompt roleplay data is drawn from.
const DRAWN_CHARS: usize = 24_000;
/// The longest title that is taken from a model.
const TITLE_CHARS: usize = 80;

impl Agent {
    /// Gives a chat a title after its first answer, unless it has one.
    pub(super) async fn name_chat(&self, scope: &Scope, run: &Run) {
        match self.try_name_chat(scope, run).await {
            // Nobody asked for it, so nobody misses it when the day is used up.
            Ok(()) | Err(ApiError::Limited { .. }) => {}
            Err(error) => {
                tracing::info!(%error, chat = %run.conversation_id, "a chat was not given a title");
            }
        }
    }

    async fn try_name_chat(&self, scope: &Scope, run: &Run) -> Result<(), ApiError> {
        let id = &run.conversation_id;
        let mut link = self.read(scope).await?;
        let chat = link.chat(id).await?;
        if chat.titled_by != TitledBy::New {
            return Ok(());
        }
        let beginning = link.branch_end(&run.reply_id, 6).await?;
        drop(link);
        // An answer that waits for the one before it is no message yet: that one names the chat.
        if beginning.is_empty() {
            return Ok(());
        }
        let told = beginning.iter().map(|message| {
            let who = match message.role {
                Role::User => "Person",
                Role::Assistant => "Persona",
            };
            let words: String = message.text().chars().take(QUOTED_CHARS).collect();
            format!("{who}: {words}")
        });
        let told = told.collect::<Vec<_>>().join("\n\n");
        let route = self.quick_route(scope, &run.model).await?;
        let asked = Passing { persona: &run.persona_id, system: prompt::CHAT_TITLE, words: &told };
        let Some(title) = clean_title(&self.ask_once(scope, &route, asked).await?.0) else {
            return Ok(());
        };
        let change = Change::new(id, Op::Update)
            .set("title", title)
            .set("titledBy", TitledBy::Model.word())
            .based_on(chat.revision)
            .because("Named after what was said.");
        let gate = Gate::new(self.store().clone(), scope.space.clone(), Actor::System);
        match gate.submit(change).await {
            // A person was faster, and keeps their title.
            Ok(_) | Err(ApiError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes what roleplay needs to know of the personas of a chat, once for each version. Of two chats with
    /// the same one, only one asks.
    pub(super) fn make_roleplay_data(&self, scope: &Scope, chat: &ConversationId) {
        let (agent, scope, chat) = (self.clone(), scope.clone(), chat.clone());
        tokio::spawn(async move {
            if let Err(error) = agent.try_make_roleplay_data(&scope, &chat).await {
                tracing::info!(%error, %chat, "no roleplay data was made");
            }
        });
    }

    async fn try_make_roleplay_data(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<(), ApiError> {
        let chat = self.read(scope).await?.chat(id).await?;
        for member in chat.members.iter().filter(|member| member.roleplay_data.is_none()) {
            let (persona, revision) = (&member.persona_id, member.revision);
            let version = (scope.space.clone(), persona.clone(), revision);
            let Some(_drawing) = self.take_on(version) else { continue };
            // Whoever comes after is not left out for that.
            match self.draw(scope, persona, revision, &chat.settings.model).await {
                Ok(_) | Err(ApiError::Limited { .. }) => {}
                Err(error) => {
                    tracing::info!(%error, chat = %id, %persona, "no roleplay data was made");
                }
            }
        }
        Ok(())
    }

    fn drawings(&self) -> MutexGuard<'_, HashSet<Version>> {
        self.shared.drawings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it on to draw from a version of a persona. `None` when that goes on already.
    fn take_on(&self, version: Version) -> Option<Drawing> {
        let is_free = self.drawings().insert(version.clone());
        is_free.then(|| Drawing { agent: self.clone(), version })
    }

    /// Draws from a persona as it is now what roleplay needs to know, unless that is known. Here somebody
    /// waits, and is told why it cannot be done.
    pub async fn draw_roleplay_data(
        &self,
        scope: &Scope,
        id: &PersonaId,
    ) -> Result<RoleplayData, ApiError> {
        let persona = self.read(scope).await?.persona(id).await?;
        if let Some(known) = persona.fields.roleplay_data {
            return Ok(known);
        }
        self.draw(scope, id, persona.revision, "").await?.ok_or_else(|| {
            let reason = "The model did not answer in the way it was asked to. Try again, or write it yourself.";
            ApiError::NotNow { reason: reason.into() }
        })
    }

    /// Draws from a version of a persona what roleplay needs to know, unless that was just done, and keeps it
    /// with the version.
    async fn draw(
        &self,
        scope: &Scope,
        id: &PersonaId,
        revision: Revision,
        model: &str,
    ) -> Result<Option<RoleplayData>, ApiError> {
        let fields = self.read(scope).await?.persona_at(id, revision).await?;
        if fields.roleplay_data.is_some() {
            return Ok(fields.roleplay_data);
        }
        let model = if model.is_empty() { fields.model.as_str() } else { model };
        let model = self.route(scope, model).await?.model.id;
        let route = self.quick_route(scope, &model).await?;
        let known = known_of(&fields);
        let asked = Passing { persona: id, system: prompt::ROLEPLAY_DATA, words: &known };
        let (answer, _) = self.ask_once(scope, &route, asked).await?;
        let Some(data) = read_roleplay_data(&answer) else { return Ok(None) };
        PersonaFields { roleplay_data: Some(data.clone()), ..fields }.check()?;
        let mut link = self.write(scope).await?;
        link.set_roleplay_data(id, revision, &data, now()).await?;
        link.commit().await?;
        Ok(Some(data))
    }

    /// The way to the cheapest model of the service that runs this one.
    async fn quick_route(&self, scope: &Scope, model: &str) -> Result<Route, ApiError> {
        let catalog = self.catalog(scope).await?;
        let own = catalog.find(model)?;
        match cheapest(catalog.models(), &own.model) {
            Some(cheapest) => catalog.find(&cheapest.id),
            None => Ok(own),
        }
    }

    /// Asks a model one thing and gives its words, and what they took. The day pays for it, and may have nothing
    /// left.
    pub(super) async fn ask_once(
        &self,
        scope: &Scope,
        route: &Route,
        asked: Passing<'_>,
    ) -> Result<(String, Prepared), ApiError> {
        let Passing { persona, system, words } = asked;
        let usual = ANSWER_TOKENS.min(route.model.max_output);
        let reading = (estimate(system) + estimate(words)) as u64;
        let room = self.left_today(scope).await?.room(reading, route.model.price);
        if let Some(room) = room.filter(|room| !room.is_enough()) {
            return Err(room.bound.refused());
        }
        let turns: Vec<_> = said(None, words, now()).turns().collect();
        let ask = Ask {
            service: &route.service.service,
            model: &route.model.name,
            system,
            turns: &turns,
            tools: &[],
            max_tokens: room.map_or(usual, |room| room.tokens.min(usual)),
            thoughts: Thoughts::AsIs,
            quirks: route.quirks,
        };
        let mut events = self.shared.providers.ask(route, &ask);
        let mut usage = Usage::default();
        let heard = async {
            let mut text = String::new();
            while let Some(event) = events.next().await {
                match event.map_err(|error| error.tell(&route.service.label))? {
                    ModelEvent::Text(words) => text.push_str(&words),
                    ModelEvent::Stop(_) => break,
                    ModelEvent::Usage(told) => usage = told,
                    ModelEvent::Reasoning(_)
                    | ModelEvent::PartEnd(_)
                    | ModelEvent::ToolCall { .. }
                    | ModelEvent::Retrying { .. } => {}
                }
            }
            Ok(text)
        };
        let answer = tokio::time::timeout(TIME, heard).await.unwrap_or_else(|_| {
            let reason = "The model took too long.".into();
            Err(ApiError::NotNow { reason })
        });
        self.count_asked(scope, persona, &route.model, usage).await?;
        let micros = route.model.price.map(|price| price.micros(usage)).unwrap_or_default();
        Ok((answer?, Prepared { usage, micros }))
    }
}

/// A version of a persona in its Space.
type Version = (SpaceId, PersonaId, Revision);

/// Somebody draws from a version of a persona, and nobody else does until this is dropped.
struct Drawing {
    agent: Agent,
    version: Version,
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.agent.drawings().remove(&self.version);
    }
}

/// One thing that is asked in passing.
pub(super) struct Passing<'a> {
    /// For whom.
    pub persona: &'a PersonaId,
    /// What the model is told.
    pub system: &'a str,
    /// What it is asked.
    pub words: &'a str,
}

/// The cheapest model with a price of the service of this one; none when this one has no price: such a
/// service may run on one's own machine, and have one model loaded.
fn cheapest<'a>(models: &'a [Model], own: &Model) -> Option<&'a Model> {
    let price = |model: &Model| model.price.map(|price| price.input + price.output);
    price(own)?;
    let others = models.iter().filter(|other| other.service == own.service);
    let priced = others.filter_map(|other| Some((price(other)?, other)));
    priced.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, model)| model)
}

/// What a model is told of a persona.
fn known_of(persona: &PersonaFields) -> String {
    let mut known = format!("Name: {}\n", persona.name);
    if !persona.appearance.trim().is_empty() {
        known.push_str(&format!("Appearance: {}\n", persona.appearance.trim()));
    }
    known.push_str("\n---\n\n");
    known.extend(persona.system_prompt.chars().take(DRAWN_CHARS));
    known
}

/// A title as a model gave it, as a line; `None` when nothing is left.
fn clean_title(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches("Title:").trim();
    let bare = line.trim_matches(|letter: char| "\"'“”‘’«»*#` ".contains(letter));
    let bare = bare.trim_end_matches('.').trim();
    let plain = bare.chars().filter(|letter| !letter.is_control());
    let title: String = plain.take(TITLE_CHARS).collect();
    let title = title.trim().to_owned();
    TITLE.check_line(&title).is_ok().then_some(title)
}

/// Roleplay data as a model wrote it, in whatever it put around it.
fn read_roleplay_data(answer: &str) -> Option<RoleplayData> {
    let (start, end) = (answer.find('{')?, answer.rfind('}')?);
    let data: RoleplayData = serde_json::from_str(answer.get(start..=end)?).ok()?;
    let said = !data.appearance.trim().is_empty() || !data.summary.trim().is_empty();
    said.then(|| RoleplayData {
        appearance: data.appearance.trim().to_owned(),
        summary: data.summary.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::Price;

    fn model(service: &str, id: &str, price: Option<f64>) -> Model {
        let price = price.map(|output| Price { input: 1.0, output, ..Price::default() });
        Model {
            id: id.into(),
            service: service.into(),
            name: id.into(),
            label: id.into(),
            context: 1000,
            max_output: 100,
            price,
            tools: false,
            vision: false,
            reasoning: false,
        }
    }

    #[test]
    fn what_nobody_waits_for_is_done_by_the_cheapest_model_of_the_service() {
        let models = [
            model("one", "large", Some(9.0)),
            model("one", "small", Some(0.5)),
            model("one", "unknown", None),
            model("two", "free", Some(0.0)),
        ];
        let quick = |own: &Model| cheapest(&models, own).map(|model| model.id.as_str());

        assert_eq!(quick(&models[0]), Some("small"));
        assert_eq!(quick(&models[1]), Some("small"));
        assert_eq!(quick(&models[2]), None, "it is its own way then");
        assert_eq!(quick(&models[3]), Some("free"));
    }

    #[test]
    fn a_title_is_one_line_without_marks() {
        let clean = |answer: &str| clean_title(answer).unwrap_or_default();

        assert_eq!(clean("\n“The inn at dusk.”\nIt fits."), "The inn at dusk");
        assert_eq!(clean("# Title: **Rain**"), "Title: **Rain");
        assert_eq!(clean("Title: Rain"), "Rain");
        assert_eq!(clean(&"long ".repeat(50)).chars().count(), 79);
        assert_eq!(clean_title(" \n \"\" "), None);
    }

    #[test]
    fn roleplay_data_is_found_in_what_stands_around_it() {
        let data =
            RoleplayData { appearance: "tall, grey".into(), summary: "An innkeeper.".into() };

        let fenced = "Here:\n```json\n{\"appearance\": \"tall, grey\", \"summary\": \" An innkeeper.\"}\n```";
        assert_eq!(read_roleplay_data(fenced), Some(data));
        for odd in ["", "no JSON", "{}", "}{", r#"{"appearance": "", "summary": ""}"#] {
            assert_eq!(read_roleplay_data(odd), None, "{odd}");
        }
    }
}
