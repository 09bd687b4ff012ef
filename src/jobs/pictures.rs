//! Asking for pictures, and what can be done with them.

use bytes::Bytes;

use super::{Allowed, Jobs, files::FilesError, remove_picture::KEPT_MS};
use crate::{
    changes::{Gate, Scope},
    domain::{
        change::{Change, Op, Outcome},
        error::ApiError,
        field::unix_lines,
        id::{ConversationId, MessageId, PersonaId, PictureId},
        message::Role,
        picture::{
            MAX_PER_MESSAGE, PICTURES_OFF, PROMPT, Picture, PictureSettings, PictureState, Wish,
        },
        timestamp::Timestamp,
    },
    store::{Link, NewPicture, Work, new_id, now},
};

/// A picture that a person asks for.
#[derive(Clone, Debug, Default)]
pub struct Imagine {
    /// Whom it shows.
    pub persona: Option<PersonaId>,
    /// The message it belongs to; without a prompt, the moment that it shows.
    pub message: Option<MessageId>,
    /// What is asked for.
    pub wish: Wish,
}

impl Jobs {
    /// Whether pictures are made here at all.
    pub fn makes_pictures(&self) -> bool {
        self.allowed == Allowed::Yes
    }

    fn check_allowed(&self) -> Result<(), ApiError> {
        match self.allowed {
            Allowed::Yes => Ok(()),
            Allowed::No => Err(ApiError::Denied { reason: PICTURES_OFF.into() }),
        }
    }

    /// Has a picture made.
    pub async fn imagine(&self, scope: &Scope, asked: Imagine) -> Result<Picture, ApiError> {
        self.check_allowed()?;
        let Imagine { persona, message, mut wish } = asked;
        wish.prompt = unix_lines(&wish.prompt).trim().to_owned();
        wish.model = wish.model.trim().to_owned();
        wish.check()?;
        if !self.artist().may_have(&wish.model) {
            let rule = "No image service is set, and the demo has no such model.";
            return Err(ApiError::invalid("model", rule));
        }
        let mut link = self.store.write(&scope.space).await?;
        if let Some(persona) = &persona {
            link.persona(persona).await?;
        }
        let moment = match message {
            Some(message) => Some(moment(&mut link, message, &wish).await?),
            None if wish.prompt.is_empty() => {
                let rule = format!("{} must not be empty.", PROMPT.label);
                return Err(ApiError::invalid(PROMPT.name, rule));
            }
            None => None,
        };
        let speaker = moment.as_ref().map(|(_, _, speaker)| speaker);
        let id: PictureId = new_id();
        let new = NewPicture {
            id: &id,
            persona: persona.as_ref().or(speaker),
            moment: moment.as_ref().map(|(chat, message, _)| (chat, message)),
            user: &scope.user,
            wish: &wish,
        };
        link.insert_picture(new).await?;
        let picture = link.picture(&id).await?;
        link.commit().await?;
        Ok(picture)
    }

    /// Has a picture made that could not be made before.
    pub async fn retry_picture(&self, scope: &Scope, id: &PictureId) -> Result<Picture, ApiError> {
        self.check_allowed()?;
        let mut link = self.store.write(&scope.space).await?;
        let picture = link.picture(id).await?;
        if !link.requeue_picture(&picture).await? {
            let reason = "Only a picture that could not be made is tried again.".into();
            return Err(ApiError::NotNow { reason });
        }
        let picture = link.picture(id).await?;
        link.commit().await?;
        Ok(picture)
    }

    /// Deletes a picture. It can be brought back for a month.
    pub async fn delete_picture(&self, scope: &Scope, id: &PictureId) -> Result<Picture, ApiError> {
        let mut link = self.store.write(&scope.space).await?;
        let picture = link.picture(id).await?;
        if let Some(name) = link.face_of(id).await? {
            let reason = format!("It is the face of {name}. Give {name} another face first.");
            return Err(ApiError::NotNow { reason });
        }
        let at = now();
        if link.mark_picture(&picture, Some(at)).await? {
            let due = Timestamp(at.0 + KEPT_MS);
            link.insert_job(&Work::RemovePicture(id.clone()), due).await?;
        }
        let picture = link.picture(id).await?;
        link.commit().await?;
        Ok(picture)
    }

    /// Brings a deleted picture back.
    pub async fn restore_picture(
        &self,
        scope: &Scope,
        id: &PictureId,
    ) -> Result<Picture, ApiError> {
        let mut link = self.store.write(&scope.space).await?;
        let picture = link.picture(id).await?;
        if !link.mark_picture(&picture, None).await? {
            let reason = "That picture was not deleted.".into();
            return Err(ApiError::NotNow { reason });
        }
        let picture = link.picture(id).await?;
        link.commit().await?;
        Ok(picture)
    }

    /// The file of a picture, and what kind of file it is.
    pub async fn picture_file(
        &self,
        scope: &Scope,
        id: &PictureId,
    ) -> Result<(String, Bytes), ApiError> {
        let picture = self.store.read(&scope.space).await?.picture(id).await?;
        let facts = picture.facts.filter(|_| picture.state == PictureState::Done);
        let facts = facts.ok_or_else(|| ApiError::not_found("picture"))?;
        match self.files.get(&scope.space, id).await {
            Ok(file) => Ok((facts.content_type, file)),
            Err(FilesError::Missing) => Err(ApiError::not_found("picture")),
            Err(FilesError::Away(problem)) => {
                tracing::warn!(problem, picture = %id, "a file cannot be read");
                let reason = "The pictures cannot be reached. Try again in a moment.".into();
                Err(ApiError::Provider { service: "files".into(), reason })
            }
        }
    }

    /// Makes a picture the face of a persona: the one it shows, unless another is named.
    pub async fn make_face(
        &self,
        gate: &Gate,
        scope: &Scope,
        id: &PictureId,
        persona: Option<PersonaId>,
    ) -> Result<Outcome, ApiError> {
        let picture = self.store.read(&scope.space).await?.picture(id).await?;
        if picture.state != PictureState::Done || picture.deleted_at.is_some() {
            let reason = "Only a picture that is there can be a face.".into();
            return Err(ApiError::NotNow { reason });
        }
        let Some(persona) = persona.or(picture.persona_id) else {
            return Err(ApiError::invalid("personaId", "Say whose face it shall be."));
        };
        let change = Change::new(&persona, Op::Update)
            .set("face", id.as_str())
            .because("A face from its pictures.");
        gate.submit(change).await
    }

    /// What a Space sets about pictures.
    pub async fn picture_settings(&self, scope: &Scope) -> Result<PictureSettings, ApiError> {
        Ok(self.store.read(&scope.space).await?.picture_settings().await?)
    }

    /// Sets what a Space wants about pictures.
    pub async fn set_picture_settings(
        &self,
        scope: &Scope,
        settings: &PictureSettings,
    ) -> Result<(), ApiError> {
        settings.check()?;
        let mut link = self.store.write(&scope.space).await?;
        link.set_picture_settings(settings).await?;
        Ok(link.commit().await?)
    }
}

/// The chat of a message, the message, and who said it.
async fn moment(
    link: &mut Link,
    message: MessageId,
    wish: &Wish,
) -> Result<(ConversationId, MessageId, PersonaId), ApiError> {
    let said = link.message(&message).await?;
    let chat = link.conversation_of(&message).await?;
    let chat = link.chat(&chat).await?;
    if said.role == Role::User && wish.prompt.is_empty() {
        let rule = "Only an answer is a scene by itself. Say what the picture shows.";
        return Err(ApiError::invalid(PROMPT.name, rule));
    }
    if link.count_pictures(&chat.id, &message).await? >= MAX_PER_MESSAGE {
        let reason = format!("A message may have at most {MAX_PER_MESSAGE} pictures.");
        return Err(ApiError::NotNow { reason });
    }
    let speaker = link.speaker(&message).await?.unwrap_or(chat.persona_id);
    Ok((chat.id, message, speaker))
}
